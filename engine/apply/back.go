package apply

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// Taking a step back begins with a look at what there is: at its place, under
// its temporary name, and in the journal. So it is the same whether the step
// was done, was never begun, or was cut short anywhere, in doing or in taking
// back; and done twice it does nothing.
//
//   - The journal has what was replaced: it is whole, and the truth.
//   - Else what stands under the temporary name is either what was replaced
//     (known by its inode), or something of ours that can go.
//   - What was made is known by its inode, which was written down before it
//     came to its place. Anything else at the place is somebody's: it stays,
//     and so does what was replaced, in the journal.

// places are the three places of a step, and what is there.
type places struct {
	at, tmp, kept        rootfs.At
	here, aside, stored  entry.Entry
	made, was            node
	before, after        entry.Print
	retain               bool
	directory, replacing bool
}

// takeBack takes all steps back, the last first. It can be called again.
func (r *treeRun) takeBack() error {
	r.root.Forget()
	r.openDirs()
	for i := len(r.op.steps) - 1; i >= 0; i-- {
		if err := r.back(i); err != nil {
			return &fault.Error{
				Code: fault.Failed, Op: "take back", Path: string(r.op.steps[i].Path), Err: err,
				Hint: "The next command tries again. What was replaced is kept in " + r.op.Dir() + ".",
			}
		}
		crash("back")
		if s := &r.op.steps[i]; s.Do == doMove || s.WasMode != 0 || s.Type == entry.Dir {
			r.root.Forget()
		}
	}
	return nil
}

// openDirs lets the owner into the directories that the steps made or gave
// another mode, so that what is in them can be taken back.
func (r *treeRun) openDirs() {
	for i := range r.op.steps {
		s := &r.op.steps[i]
		ours := s.made
		if s.Do == doAttr && s.After == "dir" && s.tried {
			ours = s.Was
		}
		if ours == (node{}) || s.After != "dir" {
			continue
		}
		_ = r.with(s.Path, func(at rootfs.At) error {
			e, err := at.Stat()
			if err != nil || e.Type != entry.Dir || e.Mode&0o700 == 0o700 || !ours.is(e) {
				return err
			}
			return at.Chmod(e.Mode | 0o700)
		})
	}
}

func (r *treeRun) back(i int) error {
	s := &r.op.steps[i]
	at, err := r.find(s)
	if err != nil {
		if ignoreMissing(err) != nil {
			return err
		}
		// Its directory is not there, or is somebody's: so it was not done, or
		// what it made is gone.
		if e, err := r.op.Kept(i).Stat(); err != nil || e.Exists() {
			return r.leave(i, err)
		}
		return nil
	}
	defer at.Close()
	return r.backAt(i, at)
}

// find is the place of a step. Where it was a moment ago it is looked for a
// little longer: somebody may be exchanging the directories above for others.
func (r *treeRun) find(s *step) (rootfs.At, error) {
	at, err := r.root.At(string(s.Path))
	for try := 0; s.begun && try < 50 && err != nil && ignoreMissing(err) == nil; try++ {
		time.Sleep(100 * time.Microsecond)
		at, err = r.root.At(string(s.Path))
	}
	return at, err
}

func (r *treeRun) backAt(i int, at rootfs.At) (err error) {
	s := &r.op.steps[i]
	switch s.Do {
	case doMove:
		return r.backMove(i, at)
	case doAttr:
		return r.backAttr(s, at)
	}
	p := places{
		at: at, tmp: at.Sibling(r.op.Temp(i)), kept: r.op.Kept(i), made: s.made, was: s.Was,
		before: s.Before, after: s.After, retain: r.op.lost[i], directory: s.Type == entry.Dir,
		replacing: s.Before != entry.PrintNone,
	}
	if p.here, err = at.Stat(); err != nil {
		return err
	}
	if p.aside, err = p.tmp.Stat(); err != nil {
		return err
	}
	if p.stored, err = p.kept.Stat(); err != nil {
		return err
	}
	if s.Do == doRemove {
		return r.backRemove(i, &p)
	}
	return r.backMake(i, &p)
}

// leave notes that a step cannot be taken back, because somebody else was
// there since. What it replaced stays in the journal.
func (r *treeRun) leave(i int, err error) error {
	if err != nil {
		return err
	}
	path := r.op.steps[i].Path
	r.left = append(r.left, string(path))
	_ = r.op.Add(line{Left: &path}) // for who reads the log
	return nil
}

func (r *treeRun) backMove(i int, at rootfs.At) error {
	s := &r.op.steps[i]
	here, err := at.Stat()
	if err != nil || !s.Was.is(here) {
		return err // it was not moved, or is not there any more
	}
	from, err := r.root.At(string(s.From))
	if err != nil {
		if ignoreMissing(err) == nil {
			return r.leave(i, nil)
		}
		return err
	}
	defer from.Close()
	err = at.MoveTo(from)
	if errors.Is(err, unix.EEXIST) {
		return r.leave(i, nil)
	}
	return err
}

// backAttr gives an entry its attributes again. A time that somebody else has
// given it since stays.
func (r *treeRun) backAttr(s *step, at rootfs.At) error {
	here, err := at.Stat()
	if err != nil || !s.tried || !s.Was.is(here) {
		return err
	}
	old := *s.Old
	if here.Type != entry.Dir && here.MtimeNs != s.New.MtimeNs {
		old.MtimeNs = 0
	}
	return at.SetMeta(old)
}

// backMake takes an entry away that a step made, and gives back what it replaced.
func (r *treeRun) backMake(i int, p *places) error {
	ours := p.made.is(p.here)
	switch {
	case !p.replacing && ours:
		return r.takeAway(i, p)
	case !p.replacing:
		return r.discard(i, p)
	case p.stored.Exists() && p.made.is(p.aside): // it is back; a copy of it is left
		return errors.Join(r.discard(i, p), r.forget(p))
	case p.stored.Exists() && ours && p.was.is(p.aside):
		// The journal has a copy of it.
		return r.swapBack(i, p)
	case p.stored.Exists() && ours:
		if p.aside.Exists() { // the rest of a copy
			if err := p.tmp.RemoveAll(); err != nil {
				return err
			}
		}
		if err := r.fetch(p); err != nil {
			return err
		}
		return r.swapBack(i, p)
	case p.stored.Exists():
		return r.backAlready(i, p)
	case ours && p.aside.Exists():
		return r.swapBack(i, p)
	case p.aside.Exists() && p.was.is(p.aside) && !p.was.is(p.here):
		// Somebody else put something here.
		if err := r.store(i, p.tmp); err != nil {
			return err
		}
		return r.leave(i, nil)
	}
	return r.discard(i, p)
}

// takeAway takes an entry away that came where nothing was.
func (r *treeRun) takeAway(i int, p *places) error {
	if p.directory {
		err := p.at.Rmdir()
		if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
			return r.leave(i, nil) // somebody's files are in it
		}
		return err
	}
	err := p.at.Detach(p.tmp, p.after)
	crash("taken away")
	if fault.CodeOf(err) == fault.Stale {
		return r.leave(i, nil)
	}
	if err != nil {
		return err
	}
	p.aside = p.here
	return r.discard(i, p)
}

// swapBack exchanges what a step made for what it replaced, which stands
// under the temporary name.
func (r *treeRun) swapBack(i int, p *places) error {
	if p.directory {
		names, err := p.at.Names()
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return r.putAside(i, p)
		}
	}
	if _, err := p.at.Install(p.tmp, p.after); err != nil {
		if fault.CodeOf(err) == fault.Stale {
			return r.putAside(i, p)
		}
		return err
	}
	crash("swapped back")
	if err := r.modeAgain(&r.op.steps[i], p.at); err != nil {
		return err
	}
	p.aside = p.here
	return errors.Join(r.discard(i, p), r.forget(p))
}

// putAside leaves a step: what it replaced goes (again) from the temporary name
// to the journal.
func (r *treeRun) putAside(i int, p *places) error {
	stored, err := p.kept.Stat()
	switch {
	case err != nil:
		return err
	case stored.Exists():
		err = p.tmp.RemoveAll()
	default:
		err = r.store(i, p.tmp)
	}
	return r.leave(i, err)
}

// backAlready is for a journal that has what was replaced while the place has
// something that the step did not make: the same, when a copy was brought back
// before, else somebody's.
func (r *treeRun) backAlready(i int, p *places) error {
	here, err := p.at.Print()
	if err != nil {
		return err
	}
	stored, err := p.kept.Print()
	if err != nil {
		return err
	}
	if here != stored {
		if err := p.tmp.RemoveAll(); err != nil {
			return err
		}
		return r.leave(i, nil)
	}
	return errors.Join(r.discard(i, p), r.forget(p))
}

func (r *treeRun) backRemove(i int, p *places) error {
	switch {
	case p.stored.Exists() && p.here.Exists():
		return r.backAlready(i, p)
	case p.stored.Exists() && p.was.is(p.aside): // the journal has a copy of it
	case p.stored.Exists():
		if err := p.tmp.RemoveAll(); err != nil { // the rest of a copy
			return err
		}
		if err := r.fetch(p); err != nil {
			return err
		}
	case !p.aside.Exists():
		return r.forget(p)
	case p.here.Exists():
		if err := r.store(i, p.tmp); err != nil {
			return err
		}
		return r.leave(i, nil)
	}
	err := p.tmp.MoveTo(p.at)
	crash("moved back")
	if errors.Is(err, unix.EEXIST) {
		return r.putAside(i, p)
	}
	if err != nil {
		return err
	}
	return errors.Join(r.modeAgain(&r.op.steps[i], p.at), r.forget(p))
}

// fetch brings what a step replaced back beside its place. A copy leaves what
// it was made from until the copy is at its place.
func (r *treeRun) fetch(p *places) error {
	err := p.kept.Transfer(p.tmp)
	if errors.Is(err, unix.EXDEV) {
		err = p.kept.CopyTo(p.tmp)
	}
	crash("fetched")
	return err
}

// modeAgain closes a directory that was opened for a moment so that it could
// be moved.
func (r *treeRun) modeAgain(s *step, at rootfs.At) error {
	if s.Before != "dir" || s.WasMode == 0 {
		return nil
	}
	e, err := at.Stat()
	if err != nil || e.Mode == s.WasMode {
		return err
	}
	return at.Chmod(s.WasMode)
}

// forget removes what the journal has of a step that is taken back: under
// another name first, so that what has the step's number is whole.
func (r *treeRun) forget(p *places) error {
	gone := p.kept.Sibling(p.kept.Name + ".gone")
	if err := p.kept.MoveTo(gone); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return errors.Join(gone.RemoveAll(), p.kept.Sibling(p.kept.Name+".part").RemoveAll())
}

// discard throws away what is left under the temporary name. What the sandbox
// has no word of any more is kept, for it is made there again.
func (r *treeRun) discard(i int, p *places) error {
	if !p.aside.Exists() {
		return nil
	}
	if !p.retain || p.directory || !p.made.is(p.aside) {
		return p.tmp.RemoveAll()
	}
	after := r.op.After(i)
	err := p.tmp.Transfer(after)
	if errors.Is(err, unix.EXDEV) {
		if err = after.RemoveAll(); err == nil {
			err = p.tmp.CopyTo(after)
		}
		if err == nil {
			err = p.tmp.RemoveAll()
		}
	}
	return err
}
