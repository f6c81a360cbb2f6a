package mountplan

import (
	"strings"

	"github.com/moby/sys/mountinfo"
)

// Privileged plans mode P: real root may lay an overlay over a directory that
// has mounts below it, so each real mount gets one overlay.
func Privileged(mounts []*mountinfo.Info, host Host) Plan {
	t := visible(mounts)
	var p Plan
	for _, dir := range append([]string{"/"}, t.points...) {
		m := t.at[dir]
		if m == nil || underSpecial(dir) {
			continue
		}
		if dir != "/" && pseudo[m.FSType] {
			if m.FSType != "autofs" {
				p.Items = append(p.Items, Item{Kind: BindDir, Path: dir})
			}
			continue
		}
		st, err := host.Lstat(dir)
		switch {
		case err != nil:
			p.Notes = append(p.Notes, dir+" cannot be looked at, so it is empty inside")
		case st.Type == File:
			p.Items = append(p.Items, Item{Kind: BindFile, Path: dir})
		case st.Type != Dir: // a socket would lead to its server on the host
			p.Notes = append(p.Notes, dir+" is a socket, FIFO or device and is not inside")
		case dir != "/" && readOnly(m):
			p.Items = append(p.Items, Item{Kind: readOnlyKind(m), Path: dir, Mode: st.Mode, UID: st.UID, GID: st.GID})
		default:
			p.Items = append(p.Items, Item{Kind: Overlay, Path: dir, Mode: st.Mode, UID: st.UID, GID: st.GID})
		}
	}
	for s := range specials {
		p.Items = append(p.Items, Item{Kind: Special, Path: s})
	}
	return p
}

func underSpecial(dir string) bool {
	for s := range specials {
		if dir == s || strings.HasPrefix(dir, s+"/") {
			return true
		}
	}
	return false
}
