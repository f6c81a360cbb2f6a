package apply

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/journal"
	"sandbox/engine/view"
)

// Reject gives the sandbox the host's state of the selected changes: through
// its merged view or, where it is down and whole changes go, by taking the
// entries out of its uppers. The host is only read. What the sandbox had goes to the
// journal first, so Undo brings it back.
//
// The caller holds the sandbox's operation lock.
func Reject(ctx context.Context, env Env, sel []Selection, opt Options) (Result, error) {
	w, err := open(env)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	if r, err := w.rejectDown(ctx, sel); !errors.Is(err, errOnlyInView) {
		return r, err
	}
	items, err := w.gather(ctx, sel, rejecting)
	if err != nil {
		return Result{}, err
	}
	known, err := w.rejectWorld(items)
	if err != nil {
		return Result{}, err
	}
	p, err := planReject(items, known)
	if err != nil {
		return Result{}, err
	}
	skipped := map[string]bool{}
	for _, s := range p.skipped {
		skipped[s.Path] = true
	}
	p.done = slices.DeleteFunc(p.done, func(r Row) bool { return skipped[r.Path] })
	p.done = inUnits(sel).rows(p.done)
	if len(p.steps) == 0 {
		return p.result(), nil
	}
	rows := sortRows(p.done)
	v, err := env.View()
	if err != nil {
		return Result{}, err
	}
	op, err := begin(env.Journal, "reject", inView, p.steps, rows)
	if err != nil {
		return Result{}, err
	}
	defer op.Close()
	crash("begun")
	p.announce(opt)
	r := &viewRun{w: w, op: op, v: v}
	w.noteRejected(items, opt)
	if err := r.doAll(ctx); err != nil {
		return Result{}, w.failInView(r, err)
	}
	journal.Trim(env.Journal)
	result := p.result()
	result.ID = op.ID
	return result, err
}

func (r *viewRun) doAll(ctx context.Context) error {
	if err := r.save(); err != nil {
		return explain("reject", "", err)
	}
	crash("saved")
	if err := r.do(ctx); err != nil {
		return err
	}
	if err := r.w.keepBases(r.op); err != nil {
		return explain("reject", "", err)
	}
	r.w.keeperSaw()
	if err := r.w.putBases(); err != nil {
		return explain("reject", "", err)
	}
	err := r.op.SetState(journal.Done)
	crash("done")
	return err
}

// viewRun does the steps of a reject in the sandbox's view.
type viewRun struct {
	w  *work
	op *operation
	v  view.View
}

// save copies what the steps will replace to the journal.
func (r *viewRun) save() error {
	for i := range r.op.steps {
		s := &r.op.steps[i]
		path := string(s.Path)
		if s.Do != doRemove && s.Do != doUnmove && (s.Do != doMake || s.Before == entry.PrintNone) {
			continue
		}
		if err := r.saveOne(i, path, s.Do == doUnmove); err != nil {
			return err
		}
	}
	return nil
}

func (r *viewRun) saveOne(i int, path string, tree bool) error {
	s := &r.op.steps[i]
	at, err := r.w.upper.at(path)
	if err != nil {
		return stale(path, "the sandbox's version")
	}
	defer at.Close()
	data := r.op.Kept(i)
	e, err := at.Stat()
	if err != nil {
		return err
	}
	if e.Type != entry.Dir || tree {
		if err := at.CopyTo(data); err != nil {
			return err
		}
	} else {
		meta, err := at.Meta()
		if err != nil {
			return err
		}
		if err := errors.Join(data.Mkdir(), data.SetMeta(meta)); err != nil {
			return err
		}
	}
	print, err := data.Print()
	if err != nil {
		return err
	}
	if s.Before != "" && s.Before != view.EmptyDir && print != s.Before {
		return stale(path, "the sandbox's version")
	}
	return nil
}

func (r *viewRun) do(ctx context.Context) error {
	for i := range r.op.steps {
		err := ctx.Err()
		if err == nil {
			err = r.op.try(i)
		}
		if err == nil {
			crash("tried")
			err = r.step(i)
			crash("step")
		}
		if err != nil {
			return explain("reject", string(r.op.steps[i].Path), err)
		}
	}
	return explain("reject", "", r.dirTimes())
}

// dirTimes sets the metadata of directories again that came back: what came
// into them moved their times.
func (r *viewRun) dirTimes() error {
	var dirs []*step
	for i := range r.op.steps {
		if s := &r.op.steps[i]; s.Do == doMake && s.Type == entry.Dir {
			dirs = append(dirs, s)
		}
	}
	slices.SortStableFunc(dirs, func(x, y *step) int { return strings.Compare(string(y.Path), string(x.Path)) })
	for _, s := range dirs {
		if err := r.v.Setattr(string(s.Path), *s.New); err != nil {
			return err
		}
	}
	return nil
}

func (r *viewRun) step(i int) error {
	s := &r.op.steps[i]
	path := string(s.Path)
	switch s.Do {
	case doRemove:
		return r.v.Remove(path, s.Before)
	case doAttr:
		now, err := r.v.Print(path)
		if err != nil {
			return err
		}
		if now != s.Before {
			return stale(path, "the sandbox's version")
		}
		return r.v.Setattr(path, *s.New)
	case doMake:
		return r.makeEntry(s)
	case doShow:
		return r.show(path, s.After)
	case doUnmove:
		return r.v.Remove(path, s.Before)
	}
	return fault.New(fault.Internal, "reject", path, "unknown step "+string(s.Do), "")
}

func (r *viewRun) makeEntry(s *step) error {
	path := string(s.Path)
	meta := *s.New
	switch s.Type {
	case entry.Dir:
		meta.Mode |= 0o700 // until dirTimes
		return r.v.Mkdir(path, meta, s.Before)
	case entry.Symlink:
		return r.v.Symlink(path, string(s.Target), meta, s.Before)
	case entry.Fifo, entry.Socket:
		return r.v.Mknod(path, s.Type, meta, s.Before)
	}
	f, err := r.content(s)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return r.v.Write(path, f, meta, s.Before)
}

// content gives the host's version, or what hunks left, as a file that nobody
// else can change, when its bytes are those that were decided on.
func (r *viewRun) content(s *step) (*os.File, error) {
	f, err := r.w.content(s.source)
	if err != nil {
		if ignoreMissing(err) == nil {
			return nil, stale(string(s.Path), "the host's version")
		}
		return nil, err
	}
	print, err := entry.PrintFd(int(f.Fd()))
	if err == nil && print != s.After {
		err = stale(string(s.Path), "the host's version")
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// show makes a directory (or a device) of the host visible again that the sandbox deleted:
// its whiteout goes, and the overlay forgets the name. That costs the same for
// any size. Where it does not work the directory is copied.
func (r *viewRun) show(path string, want entry.Print) error {
	if err := r.dropWhiteout(path); err != nil {
		return err
	}
	if err := r.v.Sync(path); err != nil {
		return err
	}
	print, err := r.v.Print(path)
	if err != nil {
		return err
	}
	switch print {
	case want:
		return nil
	case entry.PrintNone:
	default:
		return stale(path, "the sandbox's version")
	}
	at, err := r.w.host.At(path)
	if err != nil {
		return err
	}
	defer at.Close()
	return putTree(r.v, path, at, entry.PrintNone)
}

func (r *viewRun) dropWhiteout(path string) error {
	at, err := r.w.upper.at(path)
	if err != nil {
		return ignoreMissing(err)
	}
	defer at.Close()
	e, err := at.Stat()
	if err != nil || !e.Exists() {
		return err
	}
	if !e.Whiteout() {
		return stale(path, "the sandbox's version")
	}
	err = at.Unlink()
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return nil // then it is copied
	}
	return err
}
