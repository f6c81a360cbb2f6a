package mountplan

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// fake is a machine in a map: path → description. "d" directory, "f" file,
// "l" symlink, "s" socket; "!" the user cannot enter, "-" cannot write.
type fake map[string]string

func (f fake) Lstat(p string) (Stat, error) {
	d, ok := f[p]
	if !ok {
		return Stat{}, errors.New("no such entry")
	}
	st := Stat{Mode: 0o755}
	switch d[0] {
	case 'd':
		st.Type = Dir
	case 'f':
		st.Type, st.Size = File, 10
	case 'l':
		st.Type = Link
	}
	if strings.Contains(d, "big") {
		st.Size = maxCopy + 1
	}
	return st, nil
}

func (f fake) ReadDir(p string) ([]Entry, error) {
	prefix := strings.TrimSuffix(p, "/") + "/"
	var out []Entry
	for name := range f {
		rel, ok := strings.CutPrefix(name, prefix)
		if !ok || rel == "" || strings.Contains(rel, "/") {
			continue
		}
		st, _ := f.Lstat(name)
		out = append(out, Entry{Name: rel, Type: st.Type})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (f fake) Readlink(string) (string, error) { return "target", nil }

func (f fake) May(p string, mode uint32) bool {
	d := f[p]
	return (mode != unix.W_OK || !strings.Contains(d, "-")) && (mode != unix.X_OK || !strings.Contains(d, "!"))
}

// table makes a mount table of "point type [options [options of the file system]]" lines; each mount's
// parent is the deepest one above it.
func mountTable(lines ...string) []*mountinfo.Info {
	var out []*mountinfo.Info
	for i, l := range lines {
		f := strings.Fields(l)
		m := &mountinfo.Info{ID: i + 10, Parent: 1, Mountpoint: strings.ReplaceAll(f[0], "_", " "), FSType: f[1], Options: "rw"}
		if len(f) > 2 {
			m.Options = f[2]
		}
		if len(f) > 3 {
			m.VFSOptions = f[3]
		}
		best := ""
		for _, o := range out {
			if (o.Mountpoint == m.Mountpoint || Below(m.Mountpoint, o.Mountpoint)) && len(o.Mountpoint) >= len(best) {
				best, m.Parent = o.Mountpoint, o.ID
			}
		}
		out = append(out, m)
	}
	return out
}

func show(p Plan) string {
	var b strings.Builder
	for _, it := range p.Items {
		fmt.Fprintf(&b, "%s %s\n", it.Kind, it.Path)
	}
	for _, s := range p.Seeds {
		fmt.Fprintf(&b, "seed %s hidden=%v\n", s.Path, s.Hidden)
	}
	return b.String()
}

func lines(s ...string) string { return strings.Join(s, "\n") + "\n" }

func TestUserPlan(t *testing.T) {
	base := []string{"/ ext4", "/proc proc", "/sys sysfs", "/dev devtmpfs", "/dev/pts devpts", "/run tmpfs"}
	machine := fake{
		"/": "d-", "/bin": "l", "/etc": "d-", "/etc/passwd": "f", "/home": "d-", "/home/u": "d", "/home/u/f": "f",
		"/proc": "d", "/sys": "d", "/dev": "d", "/run": "d", "/root": "d!", "/srv": "d-", "/swapfile": "f big", "/note": "f", "/sock": "s",
	}
	for name, c := range map[string]struct {
		mounts []string
		extra  fake
		want   string
	}{
		"plain": {base, nil, lines(
			"directory /", "symlink /bin", "special /dev", "overlay /etc", "overlay /home", "file /note", "special /proc",
			"empty /root", "special /run", "directory /srv", "bound file /swapfile", "special /sys",
		)},
		"mount in the home": {append(slices.Clone(base), "/home/u/mnt fuse.sshfs"), fake{"/home/u/mnt": "d", "/home/u/mnt/x": "f", "/home/u/src": "d", "/home/u/src/a": "f"}, lines(
			"directory /", "symlink /bin", "special /dev", "overlay /etc", "directory /home", "directory /home/u", "file /home/u/f",
			"overlay /home/u/mnt", "overlay /home/u/src", "file /note", "special /proc",
			"empty /root", "special /run", "directory /srv", "bound file /swapfile", "special /sys",
		)},
		"read-only, automount and pseudo file systems": {append(slices.Clone(base), "/etc/img squashfs ro ro", "/etc/net autofs", "/etc/dbg debugfs", "/etc/bind ext4 ro rw"), fake{"/etc/img": "d", "/etc/bind": "d", "/etc/net": "d", "/etc/dbg": "d"}, lines(
			"directory /", "symlink /bin", "special /dev", "directory /etc", "sealed directory /etc/bind", "bound directory /etc/dbg", "bound directory /etc/img",
			"empty /etc/net", "file /etc/passwd", "overlay /home", "file /note", "special /proc",
			"empty /root", "special /run", "directory /srv", "bound file /swapfile", "special /sys",
		)},
		"file mount": {append(slices.Clone(base), "/etc/passwd ext4"), nil, lines(
			"directory /", "symlink /bin", "special /dev", "directory /etc", "bound file /etc/passwd", "overlay /home", "file /note",
			"special /proc", "empty /root", "special /run", "directory /srv", "bound file /swapfile", "special /sys",
		)},
	} {
		t.Run(name, func(t *testing.T) {
			host := fake{}
			for k, v := range machine {
				host[k] = v
			}
			for k, v := range c.extra {
				host[k] = v
			}
			if got := show(User(mountTable(c.mounts...), host)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// The owner in the view is the user; a directory that the user may not write
// on the host must not be writable inside either.
func TestModeTellsTheTruthAboutWriting(t *testing.T) {
	p := User(mountTable("/ ext4", "/proc proc"), fake{"/": "d-", "/proc": "d", "/etc": "d-", "/etc/a": "f", "/home": "d", "/home/a": "f"})
	for _, it := range p.Items {
		want := map[string]uint32{"/": 0o555, "/etc": 0o555, "/home": 0o755}[it.Path]
		if want != 0 && it.Mode != want {
			t.Errorf("%s has mode %o, want %o", it.Path, it.Mode, want)
		}
	}
}

func TestPrivilegedPlan(t *testing.T) {
	host := fake{"/": "d", "/home": "d", "/proc": "d", "/cd": "d", "/dbg": "d", "/f": "f", "/docker.sock": "s", "/bind": "d"}
	p := Privileged(mountTable("/ ext4", "/home xfs", "/proc proc", "/run tmpfs", "/run/user/0 tmpfs", "/cd iso9660 ro ro", "/docker.sock tmpfs", "/bind ext4 ro rw", "/dbg debugfs", "/auto autofs", "/f ext4"), host)
	got := strings.Split(strings.TrimSpace(show(p)), "\n")
	sort.Strings(got)
	want := []string{
		"bound directory /cd", "bound directory /dbg", "bound file /f", "overlay /", "overlay /home",
		"sealed directory /bind", "special /dev", "special /proc", "special /run", "special /sys",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// Of several mounts on one point only the last is there, and what was mounted
// below a hidden one is not.
func TestStackedMounts(t *testing.T) {
	mounts := mountTable("/ ext4", "/a ext4", "/a/b xfs", "/a tmpfs")
	mounts[3].Parent = mounts[1].ID
	v := visible(mounts)
	if v.at["/a"].FSType != "tmpfs" {
		t.Errorf("/a is %s", v.at["/a"].FSType)
	}
	if v.at["/a/b"] != nil {
		t.Error("/a/b is visible below the mount that hides it")
	}
}

// Names are bytes of any length: no two mounts share what is written to them.
func TestMountPointsOfAnyName(t *testing.T) {
	long := "/home/" + strings.Repeat("n", 200)
	points := []string{"/home/\xff", "/home/\xfe", "/home/a:b,c\\d", long, long + "/" + strings.Repeat("m", 200)}
	host := fake{"/": "d", "/home": "d", "/proc": "d"}
	table := []string{"/ ext4", "/proc proc"}
	for _, p := range points {
		host[p] = "d"
		table = append(table, p+" ext4")
	}
	for name, plan := range map[string]Plan{"user": User(mountTable(table...), host), "root": Privileged(mountTable(table...), host)} {
		overlays := plan.Overlays()
		for _, p := range points {
			n := 0
			for _, o := range overlays {
				if o == p {
					n++
				}
			}
			// An ordinary user's overlay cannot have a mount below it.
			if want := 1; n != want && (name == "root" || p != long) {
				t.Errorf("%s: %q has %d overlays", name, p, n)
			}
		}
	}
}

func TestHide(t *testing.T) {
	host := fake{"/": "d-", "/proc": "d", "/home": "d-", "/home/u": "d", "/home/u/.sandboxes": "d"}
	p := User(mountTable("/ ext4", "/proc proc"), host)
	p.Hide("/home/u/.sandboxes")
	if !strings.Contains(show(p), "seed /home/u/.sandboxes hidden=true") {
		t.Errorf("no whiteout in an overlay:\n%s", show(p))
	}
	// with a mount in the home the storage is an item of its own
	host["/home/u/m"] = "d"
	p = User(mountTable("/ ext4", "/proc proc", "/home/u/m ext4"), host)
	p.Hide("/home/u/.sandboxes")
	if strings.Contains(show(p), ".sandboxes") {
		t.Errorf("the storage is still in the skeleton:\n%s", show(p))
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{{"/a/b", "/a", true}, {"/a", "/a", false}, {"/ab", "/a", false}, {"/a", "/", true}, {"/", "/", false}} {
		if Below(c.path, c.dir) != c.want {
			t.Errorf("Below(%q, %q) is %v", c.path, c.dir, !c.want)
		}
	}
}
