package changes

import (
	"sandbox/engine/base"
	"sandbox/engine/entry"
)

// verdict is what the base says about a path.
type verdict struct {
	base     string
	conflict bool
	// untouched says that the sandbox still has the base: whatever differs is the
	// host's own doing, and no change of the sandbox.
	untouched bool
}

// judge finds out who changed a path of which the two sides differ in content,
// and whether both did. The cheap questions come first: nearly always the
// host's entry is the very one that was recorded, or older than the copy-up.
func (st *step) judge(c *Change, name string) verdict {
	d, s := st.d, st.s
	up, lo := c.Sandbox, c.Host
	r, known := s.tree.Base.Get(c.Path)
	known = known && c.From == "" && !r.Deleted
	switch {
	case !known && !lo.Exists():
		return verdict{base: BaseSame}
	case !known && lo.CtimeNs <= bornAt(up):
		return verdict{base: BaseSame}
	case known && r.SameHost(lo):
		return verdict{base: BaseSame}
	}
	if lo.Exists() && readMarks(c.Upper, s.tree.Xattr).covers(lo.CtimeNs, 0) {
		return verdict{base: BaseSame} // an accept or an undo wrote it
	}
	if !known || r.Print == "" {
		return verdict{base: BaseUnknown, conflict: true}
	}
	if p, err := entry.PrintOf(d.upper, name); err == nil && p == r.Print {
		return verdict{base: BaseKnown, untouched: up.Mode == r.Host.Mode || up.Type == entry.Symlink}
	}
	if !lo.Exists() {
		return verdict{base: BaseKnown, conflict: true}
	}
	// A touch, a chmod, a hard link: another time, the same content.
	if p, err := entry.PrintOf(d.lower, name); err == nil && p == r.Print {
		return verdict{base: BaseSame}
	}
	return verdict{base: BaseKnown, conflict: true}
}

// deletedSince is when a whiteout was made, by the base's word if it has one.
func (st *step) deletedSince(path string, up entry.Entry) (since int64, r base.Record) {
	since = whiteoutSince(up)
	if r, ok := st.s.tree.Base.Get(path); ok && r.Deleted {
		return max(since, r.SinceNs), r
	}
	return since, base.Record{}
}

// sameAsDeleted reports whether the host's entry has the content that it had
// when the sandbox deleted it, whatever its times say.
func (st *step) sameAsDeleted(name string, lo entry.Entry, r base.Record) bool {
	if !r.Deleted {
		return false
	}
	if r.SameHost(lo) {
		return true
	}
	if r.Print == "" || lo.Type != r.Host.Type || lo.Size != r.Host.Size {
		return false
	}
	p, err := entry.PrintOf(st.d.lower, name)
	return err == nil && p == r.Print
}
