package apply

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/journal"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// A sandbox that is down sees what its uppers say at the next start. So a
// reject takes their entries away, whole directories at once, and the journal
// keeps them as they are: an undo moves them back. What was done is told by
// the places alone: an entry is either in the upper or in the journal.

// holdDown keeps the sandbox down until release is called, when it is down.
func (w *work) holdDown() (release func(), down bool) {
	if w.env.Hold == nil || w.env.Running {
		return nil, false
	}
	return w.env.Hold()
}

// rejectDown does a reject on the uppers. What cannot be done there is
// errOnlyInView, and nothing was written.
func (w *work) rejectDown(ctx context.Context, sel []Selection) (Result, error) {
	release, down := w.holdDown()
	if !down {
		return Result{}, errOnlyInView
	}
	defer release()
	w.host.Hold(true)
	w.upper.hold(true)
	defer w.host.Hold(false)
	defer w.upper.hold(false)
	steps, err := w.takes(ctx, sel)
	if err == nil && (len(steps) == 0 || !w.keptBeside()) {
		err = errOnlyInView
	}
	if err != nil {
		return Result{}, err
	}
	var rows []Row
	for i := range sel {
		rows = append(rows, Row{sel[i].Change.Path, sel[i].Change.Kind})
	}
	rows = sortRows(inUnits(sel).rows(rows))
	op, err := begin(w.env.Journal, "reject", inUpper, steps, rows)
	if err != nil {
		return Result{}, err
	}
	defer op.Close()
	crash("begun")
	if err := w.takeAll(ctx, op, sel); err != nil {
		_, back := w.putBackAll(op)
		if back != nil {
			return Result{}, errors.Join(err, back)
		}
		op.Drop()
		return Result{}, err
	}
	w.forgetBases(sel)
	journal.Trim(w.env.Journal)
	return Result{ID: op.ID, Done: rows}, nil
}

// keptBeside says whether the journal is on the file system of all uppers.
func (w *work) keptBeside() bool {
	if os.MkdirAll(w.env.Journal, 0o700) != nil {
		return false
	}
	var beside, st unix.Stat_t
	if unix.Stat(w.env.Journal, &beside) != nil {
		return false
	}
	for _, l := range w.env.Tree.Layers {
		at, err := w.upper.root.At("/" + l.Upper)
		if err != nil {
			continue
		}
		err = unix.Fstatat(at.Dir, at.Name, &st, unix.AT_SYMLINK_NOFOLLOW)
		at.Close()
		if err == nil && st.Dev != beside.Dev {
			return false
		}
	}
	return true
}

func (w *work) takeAll(ctx context.Context, op *operation, sel []Selection) error {
	for i := range sel {
		path := basePath(&sel[i].Change)
		if kept := w.kept(path, sel[i].Change.Conflict); kept != nil {
			if err := op.Add(line{Base: &keptBase{pathText(path), kept}}); err != nil {
				return explain("reject", path, err)
			}
		}
	}
	for i := range op.steps {
		err := ctx.Err()
		if err == nil {
			err = w.takeOne(op, i)
			crash("taken")
		}
		if err != nil {
			return explain("reject", string(op.steps[i].Path), err)
		}
	}
	err := op.SetState(journal.Done)
	crash("done")
	return err
}

// takeOne moves an entry of the upper to the journal, when it is the one that
// the plan found.
func (w *work) takeOne(op *operation, i int) error {
	s := &op.steps[i]
	at, err := w.upper.at(string(s.Path))
	if err != nil {
		return stale(string(s.Path), "the sandbox's version")
	}
	defer at.Close()
	e, err := at.Stat()
	if err != nil {
		return err
	}
	if !s.Was.is(e) || e.Type != entry.Dir && (e.Size != s.size || e.MtimeNs != s.mtime) {
		return stale(string(s.Path), "the sandbox's version")
	}
	return at.Transfer(op.Kept(i))
}

// undoDown gives back what rejectDown took.
func (w *work) undoDown(op *operation) error {
	w.upper.hold(true)
	defer w.upper.hold(false)
	for i := range op.steps {
		free, err := w.isFree(op.Kept(i), string(op.steps[i].Path))
		if err != nil {
			return explain("undo", string(op.steps[i].Path), err)
		}
		if !free {
			return fault.New(fault.Stale, "undo", string(op.steps[i].Path), "it is not as the operation left it in the sandbox",
				"Nothing was written.")
		}
	}
	w.upper.hold(false)
	if err := op.SetState(journal.Undoing); err != nil {
		return err
	}
	crash("undoing")
	left, err := w.finishBack(op)
	if err == nil {
		err = op.SetState(journal.Undone)
	}
	if err != nil {
		return err
	}
	return leftBehind("undo", op, left)
}

// isFree says whether the sandbox has nothing of its own where an entry of the
// journal comes back, but for directories that both have.
func (w *work) isFree(kept rootfs.At, path string) (bool, error) {
	where, _, err := w.upper.look(path)
	if err != nil || where != present {
		return where == through, err
	}
	at, err := w.upper.at(path)
	if err != nil {
		return false, err
	}
	defer at.Close()
	return w.fits(kept, at, path)
}

// fits says whether what is in the journal fits beside what the upper has.
func (w *work) fits(kept, at rootfs.At, path string) (bool, error) {
	e, err := at.Stat()
	if err != nil || !e.Exists() {
		return err == nil, err
	}
	k, err := kept.Stat()
	if err != nil || e.Type != entry.Dir || k.Type != entry.Dir || !w.joins(path, kept, at) {
		return false, err
	}
	names, err := kept.Names()
	if err != nil {
		return false, err
	}
	from, err := kept.Enter()
	if err != nil {
		return false, err
	}
	defer from.Close()
	to, err := at.Enter()
	if err != nil {
		return false, err
	}
	defer to.Close()
	for _, name := range names {
		if fit, err := w.fits(from.Sibling(name), to.Sibling(name), join(path, name)); err != nil || !fit {
			return false, err
		}
	}
	return true, nil
}

// joins says that two directories of an upper can be made one: both show what
// the host has below them, or it has nothing.
func (w *work) joins(path string, kept, at rootfs.At) bool {
	has := func(name string) bool { return w.upper.attr(kept, name) != "" || w.upper.attr(at, name) != "" }
	if has("redirect") {
		return false
	}
	if !has("opaque") {
		return true
	}
	host, err := w.stat(w.host, path)
	return err == nil && host.Type != entry.Dir
}

// backDown takes a reject back that was done on the uppers, wherever it is. It
// can be called again. A sandbox that came up since gets it through its view.
func (w *work) backDown(op *operation) (left []string, err error) {
	release, down := w.holdDown()
	if down {
		defer release()
		w.upper.hold(true)
		defer w.upper.hold(false)
		return w.putBackAll(op)
	}
	v, err := w.env.View()
	if err == nil {
		err = v.Sync()
	}
	for i := range op.steps {
		if err != nil {
			break
		}
		var e entry.Entry
		if e, err = op.Kept(i).Stat(); err == nil && e.Exists() {
			err = w.putInView(v, string(op.steps[i].Path), op.Kept(i), e)
			crash("back")
		}
	}
	return nil, err
}

func (w *work) putBackAll(op *operation) (left []string, err error) {
	for i := range op.steps {
		s := &op.steps[i]
		done, err := w.putBack(op.Kept(i), string(s.Path))
		if err != nil {
			return left, &fault.Error{
				Code: fault.Failed, Op: "take back", Path: string(s.Path), Err: err,
				Hint: "The next command tries again. What the sandbox had is kept in " + op.Dir() + ".",
			}
		}
		if !done {
			left = append(left, string(s.Path))
		} else if s.Type == entry.Dir {
			w.modeBack(s)
		}
		crash("back")
	}
	return left, nil
}

// modeBack closes a directory that was opened for a moment so that it could move.
func (w *work) modeBack(s *step) {
	at, err := w.upper.at(string(s.Path))
	if err != nil {
		return
	}
	defer at.Close()
	if e, err := at.Stat(); err == nil && s.Was.is(e) && e.Mode != s.WasMode {
		_ = at.Chmod(s.WasMode)
	}
}

// putBack moves an entry from the journal to its place in the upper, and says
// whether nobody's was there. Nothing in the journal means that it is back.
func (w *work) putBack(kept rootfs.At, path string) (bool, error) {
	k, err := kept.Stat()
	if err != nil || !k.Exists() {
		return err == nil, err
	}
	if err := w.dirsAbove(path); err != nil {
		if errors.Is(err, unix.EEXIST) { // the sandbox has deleted it since
			err = nil
		}
		return false, ignoreMissing(err)
	}
	at, err := w.upper.at(path)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer at.Close()
	err = kept.Transfer(at)
	if errors.Is(err, unix.EACCES) {
		err = w.intoShut(parent(path), func() error { return kept.Transfer(at) })
	}
	if !errors.Is(err, unix.EEXIST) {
		return err == nil, err
	}
	e, err := at.Stat()
	if err != nil || k.Type != entry.Dir || e.Type != entry.Dir || !w.joins(path, kept, at) {
		return false, err
	}
	if err := kept.Chmod(k.Mode | 0o700); err != nil { // it is emptied, and goes
		return false, err
	}
	names, err := kept.Names()
	if err != nil {
		return false, err
	}
	in, err := kept.Enter()
	if err != nil {
		return false, err
	}
	defer in.Close()
	all := true
	for _, name := range names {
		one, err := w.putBack(in.Sibling(name), join(path, name))
		if err != nil {
			return false, err
		}
		crash("joined")
		all = all && one
	}
	if !all {
		return false, nil
	}
	return true, kept.Rmdir()
}

// intoShut opens a directory for its owner while something comes into it.
func (w *work) intoShut(dir string, do func() error) error {
	at, err := w.upper.at(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	e, err := at.Stat()
	if err == nil {
		err = at.Chmod(e.Mode | 0o700)
	}
	if err != nil {
		return err
	}
	return errors.Join(do(), at.Chmod(e.Mode))
}

// dirsAbove makes the directories above a path again that the upper let go
// because they were equal to the host's.
func (w *work) dirsAbove(path string) error {
	dir := parent(path)
	if at, err := w.upper.at(path); err == nil {
		at.Close()
		return nil
	}
	if err := w.dirsAbove(dir); err != nil {
		return err
	}
	host, err := w.host.At(dir)
	if err != nil {
		return err
	}
	defer host.Close()
	meta, err := host.Meta()
	if err != nil {
		return err
	}
	at, err := w.upper.at(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	if err := at.Mkdir(); err != nil {
		return err
	}
	return at.SetMeta(meta)
}

// putInView makes in a running sandbox what a saved upper entry says.
func (w *work) putInView(v view.View, path string, kept rootfs.At, e entry.Entry) error {
	if e.Whiteout() {
		return v.Remove(path, "")
	}
	if isDevice(e.Type) {
		return nil // nobody can make one in a sandbox
	}
	now, err := v.Print(path)
	if err != nil {
		return err
	}
	isDir := e.Type == entry.Dir
	if now == entry.PrintDir && !isDir || now != entry.PrintNone && now != entry.PrintDir && isDir ||
		isDir && now == entry.PrintDir && w.upper.attr(kept, "opaque") == "y" {
		if err := v.Remove(path, now); err != nil {
			return err
		}
	}
	meta, err := kept.Meta()
	if err != nil {
		return err
	}
	if !isDir {
		return putAs(v, path, kept, meta, "")
	}
	open := meta
	open.Mode |= 0o700 // until all is in it
	if err := putAs(v, path, kept, open, ""); err != nil {
		return err
	}
	names, err := kept.Names()
	if err != nil {
		return err
	}
	in, err := kept.Enter()
	if err != nil {
		return err
	}
	defer in.Close()
	for _, name := range names {
		child := in.Sibling(name)
		e, err := child.Stat()
		if err == nil {
			err = w.putInView(v, join(path, name), child, e)
		}
		if err != nil {
			return err
		}
	}
	return v.Setattr(path, meta) // once more: what came into it moved its mtime
}
