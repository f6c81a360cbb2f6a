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
	r, known := s.tree.Base.Get(c.hostPath())
	switch {
	case !known && !lo.Exists():
		return verdict{base: BaseSame}
	case !known && lo.CtimeNs < bornAt(up): // of the same tick of the clock: nobody knows
		return verdict{base: BaseSame}
	case known && r.SameHost(lo):
		return verdict{base: BaseSame}
	}
	if !known || r.Print == "" {
		if lo.Exists() && readMarks(c.Upper, s.tree.Xattr).covers(lo.CtimeNs, 0) {
			return verdict{base: BaseSame} // an accept or an undo wrote it
		}
		return verdict{base: BaseUnknown, conflict: true}
	}
	if p, err := entry.PrintOf(d.upper, name); err == nil && p == r.Print {
		return verdict{base: BaseKnown, untouched: up.Mode == r.Host.Mode || up.Type == entry.Symlink}
	}
	if !lo.Exists() {
		return verdict{base: BaseKnown, conflict: true}
	}
	// A touch, a hard link: another time, the same content. With another mode the
	// versions are for a merge to put together.
	if p, err := entry.PrintOf(d.lower, name); err == nil && p == r.Print && (lo.Mode == r.Host.Mode || lo.Type == entry.Symlink) {
		return verdict{base: BaseSame}
	}
	return verdict{base: BaseKnown, conflict: true}
}

// onlyTheHosts reports whether two entries of the same content differ in nothing
// but a mode that the host's got since the copy-up.
func (st *step) onlyTheHosts(c *Change, name string) bool {
	r, ok := st.s.tree.Base.Get(c.Path)
	if !ok || r.Deleted || c.From != "" || c.Sandbox.Mode != r.Host.Mode {
		return false
	}
	lo := c.Host
	lo.Mode = c.Sandbox.Mode
	return st.s.sameAttributes(st.d, name, c.Sandbox, lo)
}

// judgeDeleted finds out whether the host changed what the sandbox deleted.
func (st *step) judgeDeleted(c *Change, lower int, name string, gone deletion) {
	r, known := st.s.tree.Base.Get(c.hostPath())
	known = known && r.Host.Type != entry.Dir && c.Host.Type != entry.Dir
	switch {
	case known && (r.SameHost(c.Host) || samePrint(lower, name, c.Host, r)):
		c.Base = BaseSame
	case known && r.Print != "" && !gone.marks.covers(c.Host.CtimeNs, clockStep):
		c.Base, c.Conflict = BaseKnown, true
	case gone.overtaken(c.Host):
		c.Base, c.Conflict = BaseUnknown, true
	default:
		c.Base = BaseSame
	}
}

// samePrint reports whether a host's entry has the content of a record,
// whatever its times say.
func samePrint(lower int, name string, lo entry.Entry, r base.Record) bool {
	if r.Print == "" || lo.Type != r.Host.Type || (lo.Type == entry.File && lo.Size != r.Host.Size) {
		return false
	}
	p, err := entry.PrintOf(lower, name)
	return err == nil && p == r.Print
}
