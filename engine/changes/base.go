package changes

import (
	"sandbox/engine/diff"
	"sandbox/engine/entry"
)

// BaseSide gives the version of a path from which its two sides went apart, as
// the keeper, or an operation later on, wrote it down. A content that was not
// kept may still be the host's of now, which changed in its mode only.
func (t Tree) BaseSide(path string, host diff.Side) (diff.Side, bool) {
	r, ok := t.Base.Get(path)
	if !ok || r.Deleted {
		return diff.Side{}, false
	}
	s := diff.Side{Type: r.Host.Type, Mode: r.Host.Mode, Target: r.Host.Target}
	switch s.Type {
	case entry.Symlink, entry.None:
		return s, true
	case entry.File:
		if s.Data, ok = t.Base.Content(r); !ok && host.Type == entry.File && entry.PrintBytes(host.Data) == r.Print {
			s.Data, ok = host.Data, true
		}
		return s, ok
	}
	return s, false
}
