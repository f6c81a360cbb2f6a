package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// item is one selection with all that a plan must know about it.
type item struct {
	change *changes.Change // that of the selection; not written to
	hunks  []string

	// hostAt is where the host has it: Path, or From for a rename and below
	// a renamed directory.
	hostAt              string
	host, box           entry.Entry // what is there now, in the host and in the sandbox
	hostPrint, boxPrint entry.Print // hostPrint is "" below a directory that goes as a whole
	hostMeta, boxMeta   view.Meta
	// here is what the host has at Path where hostAt is another path.
	here      entry.Entry
	herePrint entry.Print
	covered   bool       // a directory of the sandbox above it hides the host's
	loose     bool       // the decision named no content of the sandbox
	lazy      bool       // its contents are not compared again, and have no prints
	trouble   string     // why it is left alone; "" for nothing
	result    *diff.Side // what the chosen hunks make of it
	newName   bool       // of a rename its hunk is chosen, but not all others
	base      *diff.Side // and what is the base of the rest then
	unknown   bool       // or that it is not known
}

// takesName says that the host's file gets the name it has in the sandbox.
func (it *item) takesName() bool {
	return it.change.Kind == changes.Renamed && !it.redirect() && (it.hunks == nil || it.newName)
}

func (it *item) path() string { return it.change.Path }

// redirect says that the kernel itself recorded the rename of a directory.
func (it *item) redirect() bool { return it.change.Kind == changes.Renamed && it.change.Redirect }

// ways of an operation.
type way int

const (
	accepting way = iota
	rejecting
)

// work is one operation on a sandbox.
type work struct {
	env   Env
	host  *rootfs.Root
	upper *upper
	// sides are the bases that chosen hunks leave, by path; rebased is what the
	// operation makes of bases.
	sides   map[string]*diff.Side
	unknown map[string]bool
	rebased []rebase
}

func open(env Env) (*work, error) {
	host, err := rootfs.Open("/")
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "open", "/", err)
	}
	up, err := openUpper(env.Tree)
	if err != nil {
		_ = host.Close()
		return nil, err
	}
	return &work{env: env, host: host, upper: up}, nil
}

func (w *work) close() {
	_ = w.host.Close()
	_ = w.upper.root.Close()
}

// gather looks at both sides of all selections, and refuses when one is not
// what the decision was made on.
func (w *work) gather(ctx context.Context, sel []Selection, dir way) ([]*item, error) {
	sel, err := merge(sel)
	if err != nil {
		return nil, err
	}
	items := make([]*item, 0, len(sel))
	moves := renamedDirs(sel)
	whole := goingDirs(sel)
	notes := stamps(w.env.Journal)
	for i := range sel {
		if err := ctx.Err(); err != nil {
			return nil, fault.Wrap(fault.Failed, "prepare", sel[i].Change.Path, err)
		}
		it := &item{change: &sel[i].Change, hunks: sel[i].Hunks, loose: sel[i].Sandbox == "" && !sel[i].fixed()}
		if it.change.Conflict {
			settled := sel[i].Change
			settle(notes, &settled)
			it.change = &settled
		}
		it.place(moves, dir)
		if err := w.facts(it, &sel[i], moves, whole, dir); err != nil {
			return nil, err
		}
		if it.base != nil {
			if w.sides == nil {
				w.sides = map[string]*diff.Side{}
			}
			w.sides[it.path()] = it.base
		}
		if it.unknown {
			if w.unknown == nil {
				w.unknown = map[string]bool{}
			}
			w.unknown[it.path()] = true
		}
		items = append(items, it)
	}
	return items, nil
}

// merge makes one selection of those that name the same change: several blocks
// of a file may come one by one.
func merge(sel []Selection) ([]Selection, error) {
	if everyOnce(sel) {
		return sel, nil
	}
	out := make([]Selection, 0, len(sel))
	index := make(map[string]int, len(sel))
	for _, s := range sel {
		if s.Hunks != nil && len(s.Hunks) == 0 {
			return nil, fault.New(fault.Usage, "apply", s.Change.Path, "no block is named", "Name at least one, or take the whole change.")
		}
		i, seen := index[s.Change.Path]
		if !seen {
			index[s.Change.Path] = len(out)
			out = append(out, s)
			continue
		}
		o := &out[i]
		if (o.Host != "" && s.Host != "" && o.Host != s.Host) || (o.Sandbox != "" && s.Sandbox != "" && o.Sandbox != s.Sandbox) {
			return nil, stale(s.Change.Path, "it")
		}
		o.Host, o.Sandbox = cmp.Or(o.Host, s.Host), cmp.Or(o.Sandbox, s.Sandbox)
		if o.Hunks == nil || s.Hunks == nil {
			o.Hunks = nil
			continue
		}
		o.Hunks = append(slices.Clone(o.Hunks), s.Hunks...)
		slices.Sort(o.Hunks)
		o.Hunks = slices.Compact(o.Hunks)
	}
	return out, nil
}

// everyOnce says that no change is named twice, as it is when all of a scan are
// taken, and that none is taken in part.
func everyOnce(sel []Selection) bool {
	for i := range sel {
		if sel[i].Hunks != nil || i > 0 && sel[i].Change.Path <= sel[i-1].Change.Path {
			return false
		}
	}
	return true
}

// renamedDirs are the chosen renames that the kernel recorded.
func renamedDirs(sel []Selection) []changes.Change {
	var moves []changes.Change
	for i := range sel {
		if c := sel[i].Change; c.Kind == changes.Renamed && c.Redirect {
			moves = append(moves, c)
		}
	}
	return moves
}

// goingDirs are the chosen directories of the host that go or are replaced:
// what is below them is not hashed one by one.
func goingDirs(sel []Selection) map[string]bool {
	dirs := map[string]bool{}
	for i := range sel {
		c := sel[i].Change
		if c.Host.Type == entry.Dir && (c.Kind == changes.Deleted || c.Kind == changes.TypeChanged) {
			dirs[c.Path] = true
		}
	}
	return dirs
}

// place says where the host has the item. Below a renamed directory that is
// not accepted with it, the host's side is what stands at Path itself.
func (it *item) place(moves []changes.Change, dir way) {
	c := it.change
	it.hostAt = c.Path
	if c.From == "" {
		return
	}
	if c.Kind == changes.Renamed || dir == rejecting {
		it.hostAt = c.From
		return
	}
	for _, m := range moves {
		if below(c.Path, m.Path) {
			it.hostAt = c.From
			return
		}
	}
	if c.Kind == changes.Deleted {
		it.trouble = "its directory was renamed in the sandbox; accept that too"
	}
}

func (w *work) facts(it *item, s *Selection, moves []changes.Change, whole map[string]bool, dir way) error {
	c := it.change
	it.lazy = it.plain(s, dir)
	hash := !it.lazy && (dir == rejecting || s.Host != "" || len(it.hunks) > 0 || c.From != "" || !whole[parent(c.Path)])
	vacated := false // a renamed directory leaves this place
	for _, m := range moves {
		vacated = vacated || (it.hostAt == c.Path && within(c.Path, m.From))
	}
	var err error
	it.host, it.hostPrint = entry.Entry{Type: entry.None}, entry.PrintNone
	if !vacated || dir == rejecting {
		if it.host, it.hostPrint, it.hostMeta, err = w.hostSide(it, it.hostAt, hash); err != nil {
			return err
		}
	}
	if it.lazy && it.host.Exists() && c.Kind == changes.Added {
		it.lazy = false // whether both are the same decides
		if _, it.hostPrint, _, err = w.hostSide(it, it.hostAt, true); err != nil {
			return err
		}
	}
	it.here, it.herePrint = entry.Entry{Type: entry.None}, entry.PrintNone
	if c.Kind == changes.Renamed {
		if it.here, it.herePrint, _, err = w.hostSide(it, c.Path, true); err != nil {
			return err
		}
		for _, m := range moves {
			if within(c.Path, m.From) { // what is there moves away
				it.here, it.herePrint = entry.Entry{Type: entry.None}, entry.PrintNone
			}
		}
	}
	if err := w.boxSide(it); err != nil {
		return err
	}
	if dir == rejecting && (isDevice(it.host.Type) || it.host.Nlink > 1) {
		it.covered = w.upper.covers(it.hostAt)
	}
	if it.trouble != "" {
		return nil
	}
	if len(it.hunks) > 0 {
		if err := w.choose(it, dir); err != nil {
			return err
		}
	}
	// An added path that the host has too is the plan's business: a conflict.
	described := c.Kind != changes.Added && !vacated && (c.From == "" || it.hostAt == c.From)
	switch {
	case s.Host != "" && s.Host != it.hostPrint:
		return stale(c.Path, "the host's version")
	case s.Sandbox != "" && s.Sandbox != it.boxPrint:
		return stale(c.Path, "the sandbox's version")
	case described && c.Host.Type != "" && moved(c.Host, it.host):
		return stale(c.Path, "the host's version")
	case s.fixed() && c.Upper != "" && c.Sandbox.Type == entry.File && moved(c.Sandbox, it.box):
		return stale(c.Path, "the sandbox's version")
	case (c.Kind == changes.Deleted) == it.box.Exists(), c.Sandbox.Type != "" && c.Sandbox.Type != it.box.Type:
		return stale(c.Path, "the sandbox's version")
	}
	return nil
}

// plain says that nothing was decided on the contents of the two sides, and
// nothing depends on them: the scan found that they differ.
func (it *item) plain(s *Selection, dir way) bool {
	if it.change.Base == changes.BaseKnown {
		return false // three versions are compared
	}
	c := it.change
	if dir == rejecting || s.fixed() || s.Host != "" || s.Sandbox != "" || it.hunks != nil || c.Conflict || c.From != "" {
		return false
	}
	none := func(e entry.Entry) bool { return !e.Exists() }
	switch c.Kind {
	case changes.Modified:
		return c.Host.Type == entry.File && c.Sandbox.Type == entry.File
	case changes.Deleted:
		return c.Host.Type == entry.File
	case changes.Added:
		return none(c.Host) && c.Sandbox.Type == entry.File
	}
	return false
}

// moved says whether the host's entry is another one, or was written, since
// the scan: whether it is a conflict was decided on what the scan saw.
func moved(scan, now entry.Entry) bool {
	if scan.Type != now.Type {
		return true
	}
	return scan.Type == entry.File && scan.Ino != 0 &&
		(scan.Ino != now.Ino || scan.Size != now.Size || scan.MtimeNs != now.MtimeNs)
}

func stale(path, side string) error {
	return fault.New(fault.Stale, "apply", path, side+" changed since it was looked at",
		"Nothing was written. Look at the differences again and decide anew.")
}

// hostSide looks at a path of the host. Where its directory part is missing or
// is none, nothing is there; whether that stands in the way is the plan's question.
func (w *work) hostSide(it *item, path string, hash bool) (entry.Entry, entry.Print, view.Meta, error) {
	none := entry.Entry{Type: entry.None}
	at, err := w.host.At(path)
	if err != nil {
		if ignoreMissing(err) == nil {
			return none, entry.PrintNone, view.Meta{}, nil
		}
		return none, "", view.Meta{}, w.unreadable(it, path, err)
	}
	defer at.Close()
	e, err := at.Stat()
	if err != nil {
		return none, "", view.Meta{}, w.unreadable(it, path, err)
	}
	var print entry.Print
	if hash || e.Type != entry.File {
		if print, err = at.Print(); err != nil {
			return e, "", view.Meta{}, w.unreadable(it, path, err)
		}
	}
	meta, err := at.MetaOf(e)
	if err != nil {
		return e, "", view.Meta{}, w.unreadable(it, path, err)
	}
	return e, print, meta, nil
}

// unreadable makes a reason to skip of an error that concerns one path.
func (w *work) unreadable(it *item, path string, err error) error {
	for _, e := range []error{unix.EACCES, unix.EPERM, unix.EIO, unix.EOVERFLOW, unix.ENAMETOOLONG} {
		if errors.Is(err, e) {
			it.trouble = fmt.Sprintf("it cannot be read: %v", e)
			return nil
		}
	}
	return fault.Wrap(fault.Failed, "look at", path, err)
}

// boxSide looks at what the sandbox has.
func (w *work) boxSide(it *item) error {
	c := it.change
	where, e, err := w.upper.look(c.Path)
	if err != nil {
		return w.unreadable(it, c.Path, err)
	}
	switch where {
	case gone:
		it.box, it.boxPrint = e, entry.PrintNone
	case through:
		// The sandbox sees the host's, unless a renamed directory is above.
		it.box, it.boxPrint, it.boxMeta = it.host, it.hostPrint, it.hostMeta
	case present:
		at, err := w.upper.at(c.Path)
		if err != nil {
			return w.unreadable(it, c.Path, err)
		}
		defer at.Close()
		it.box = e
		if it.lazy && e.Type == entry.File {
			it.boxPrint = ""
		} else if it.boxPrint, err = at.Print(); err != nil {
			return w.unreadable(it, c.Path, err)
		}
		if it.boxMeta, err = at.MetaOf(e); err != nil {
			return w.unreadable(it, c.Path, err)
		}
	}
	if c.Kind == changes.Deleted && where == through && w.upper.renamed(c.Path) {
		// What a renamed directory covers at its new place has no mark of its own.
		it.box, it.boxPrint = entry.Entry{Type: entry.None}, entry.PrintNone
	}
	return nil
}

// choose works out what the chosen hunks make of the two sides.
func (w *work) choose(it *item, dir way) error {
	host, err := w.side(it.host, it.hostAt, &it.hostPrint, w.host.At)
	if err != nil {
		return w.unreadable(it, it.hostAt, err)
	}
	box, err := w.side(it.box, it.path(), &it.boxPrint, w.upper.at)
	if err != nil {
		return w.unreadable(it, it.path(), err)
	}
	three, known := w.baseOf(it.change, it.path(), host)
	all := diff.Compare(it.path(), host, box)
	if known {
		all = diff.CompareBase(it.path(), host, box, three)
	}
	if it.change.Kind == changes.Renamed && !it.redirect() {
		all = append([]diff.Hunk{diff.Rename(it.change.From, it.path())}, all...)
	}
	chosen, err := diff.Select(all, it.hunks)
	if err != nil {
		return err
	}
	if len(chosen) > 0 && chosen[0].Kind == diff.Renamed {
		if len(chosen) == len(all) { // the name and all else: the file as a whole
			it.hunks = nil
			return nil
		}
		if dir == rejecting || it.host.Type != entry.File {
			it.trouble = "its new name goes back with all of its blocks or not at all"
			return nil
		}
		it.newName = true
	}
	among := diff.Among(chosen)
	var result diff.Side
	switch {
	case dir == accepting:
		result, err = diff.Apply(host, box, all, among)
	case known:
		result, err = diff.Revert(host, box, all, among)
	default:
		result, err = diff.Apply(host, box, all, diff.NotAmong(chosen))
	}
	if err != nil {
		return err
	}
	it.result = &result
	if !known && it.change.Conflict {
		it.unknown = true
		return nil
	}
	if !known {
		three = host
	}
	none := func(diff.Hunk) bool { return false }
	if dir == accepting {
		three = diff.Advance(it.path(), three, host, box, among, none)
	} else {
		three = diff.Advance(it.path(), three, host, box, none, among)
	}
	it.base = &three
	return nil
}

// side reads one version whole; print becomes that of the bytes that were read.
func (w *work) side(e entry.Entry, path string, print *entry.Print, find func(string) (rootfs.At, error)) (diff.Side, error) {
	s := diff.Side{Type: e.Type, Mode: e.Mode, Target: e.Target}
	if e.Type != entry.File {
		return s, nil
	}
	at, err := find(path)
	if err != nil {
		return s, err
	}
	defer at.Close()
	data, now, err := entry.ReadFile(at.Dir, at.Name, -1)
	if err != nil {
		return s, err
	}
	s.Data, s.Mode, *print = data, now.Mode, entry.PrintBytes(data)
	return s, nil
}
