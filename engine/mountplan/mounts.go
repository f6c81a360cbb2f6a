package mountplan

import (
	"sort"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// table is what a path walk from / meets.
type table struct {
	at     map[string]*mountinfo.Info // mount point → the mount that is seen there
	points []string                   // sorted, without "/"
}

// visible keeps the mounts that a path walk reaches: of several on one mount
// point the last one, and nothing below a mount that another one hides.
func visible(mounts []*mountinfo.Info) table {
	kids := map[int][]*mountinfo.Info{}
	ids := map[int]bool{}
	for _, m := range mounts {
		ids[m.ID] = true
	}
	var root *mountinfo.Info
	for _, m := range mounts {
		if !ids[m.Parent] && m.Mountpoint == "/" {
			root = m
		} else {
			kids[m.Parent] = append(kids[m.Parent], m)
		}
	}
	t := table{at: map[string]*mountinfo.Info{}}
	if root == nil {
		return t
	}
	var visit func(m *mountinfo.Info)
	visit = func(m *mountinfo.Info) {
		for i := len(kids[m.ID]) - 1; i >= 0; i-- {
			if k := kids[m.ID][i]; k.Mountpoint == m.Mountpoint && k != m {
				visit(k) // stacked on m's own root
				return
			}
		}
		t.at[m.Mountpoint] = m
		for _, k := range kids[m.ID] {
			visit(k)
		}
	}
	visit(root)
	for p := range t.at {
		if p != "/" {
			t.points = append(t.points, p)
		}
	}
	sort.Strings(t.points)
	return t
}

// below reports whether any mount point lies strictly below dir.
func (t table) below(dir string) bool {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	i := sort.SearchStrings(t.points, prefix)
	return i < len(t.points) && strings.HasPrefix(t.points[i], prefix)
}

func readOnly(m *mountinfo.Info) bool {
	return m != nil && (hasOption(m.Options, "ro") || hasOption(m.VFSOptions, "ro"))
}

// readOnlyKind tells how a read-only mount is shown. Where only the mount is
// read-only, programs on the host can have made sockets in it, and connecting
// to one is no writing: a bind would let commands talk to them.
func readOnlyKind(m *mountinfo.Info) Kind {
	if hasOption(m.VFSOptions, "ro") {
		return BindDir
	}
	return Sealed
}

func hasOption(list, want string) bool {
	for o := range strings.SplitSeq(list, ",") {
		if o == want {
			return true
		}
	}
	return false
}

func fsType(m *mountinfo.Info) string {
	if m == nil {
		return ""
	}
	return m.FSType
}
