package apply

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/journal"
	"sandbox/engine/rootfs"
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

// rejectWorld collects what the plan of a reject must know beside the items.
func (w *work) rejectWorld(items []*item) (world, error) {
	known := world{
		tree: w.env.Tree, host: map[string]entry.Entry{}, box: map[string]dirFacts{},
		listing: map[string]map[string]entry.Entry{}, inBox: map[string]map[string]entry.Entry{},
	}
	known.covered, known.inPlace = map[string]bool{}, map[string]entry.Entry{}
	var err error
	if known.tangled, err = w.tangles(items); err != nil {
		return known, err
	}
	for _, it := range items {
		for _, path := range []string{it.path(), it.hostAt} {
			if err := w.boxAbove(&known, path); err != nil {
				return known, err
			}
		}
		if it.host.Type == entry.Dir && (it.change.Kind == changes.Deleted || it.change.Kind == changes.TypeChanged) {
			all := map[string]entry.Entry{}
			at, err := w.host.At(it.hostAt)
			if err == nil {
				err = listTree(at, it.hostAt, all)
				at.Close()
			}
			if err != nil {
				return known, explain("reject", it.path(), err)
			}
			known.listing[it.hostAt] = all
		}
		if it.change.Kind == changes.Renamed && it.result == nil {
			where, e, err := w.upper.look(it.change.From)
			if err != nil {
				return known, explain("reject", it.path(), err)
			}
			if where == present {
				known.inPlace[it.change.From] = e
			}
		}
		if it.redirect() && it.here.Type == entry.Dir {
			if err := w.listShadow(&known, it); err != nil {
				return known, explain("reject", it.path(), err)
			}
		}
		if leaves(it) && it.box.Type == entry.Dir {
			list, err := w.upper.list(it.path())
			if err != nil {
				return known, explain("reject", it.path(), err)
			}
			if it.redirect() {
				w.withoutCopies(it, list)
			}
			known.inBox[it.path()] = list
		}
	}
	return known, nil
}

// withoutCopies takes out of what the upper has in a renamed directory what is
// the same as the host's: nobody's change.
func (w *work) withoutCopies(it *item, list map[string]entry.Entry) {
	for path, e := range list {
		if e.Type == entry.Dir {
			continue
		}
		host, err := w.host.At(it.change.From + path[len(it.path()):])
		if err != nil {
			continue
		}
		up, err := w.upper.at(path)
		if err == nil {
			if h, err := host.Stat(); err == nil && h.Type == e.Type {
				if same, err := equalEntry(up, e, host, h); err == nil && same {
					delete(list, path)
				}
			}
			up.Close()
		}
		host.Close()
	}
}

// boxAbove notes the directories above a path: what the upper says of each,
// where it says something, and what the host has.
func (w *work) boxAbove(known *world, path string) error {
	for dir := parent(path); dir != "/"; dir = parent(dir) {
		if _, seen := known.host[dir]; seen {
			return nil
		}
		host, err := w.stat(w.host, dir)
		if err != nil {
			return err
		}
		known.host[dir] = host
		where, e, err := w.upper.look(dir)
		if err != nil {
			return err
		}
		if where != through {
			known.box[dir] = dirFacts{entry: e}
		}
	}
	return nil
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

// revert takes one step back.
func (r *viewRun) revert(i int) error {
	s := &r.op.steps[i]
	path := string(s.Path)
	switch s.Do {
	case doAttr:
		return r.v.Setattr(path, *s.Old)
	case doShow:
		return r.v.Remove(path, s.After)
	case doUnmove:
		return r.moveAgain(i)
	case doMake:
		if s.Before == entry.PrintNone {
			expect := s.After
			if s.Type == entry.Dir {
				expect = view.EmptyDir
			}
			return r.v.Remove(path, expect)
		}
	}
	data := r.op.Kept(i)
	if e, err := data.Stat(); err == nil && isDevice(e.Type) {
		return nil // nobody can make one in a sandbox: the host's version stays
	}
	return putOne(r.v, path, data, s.After)
}

// moveAgain makes the directory under its new name from the host's content and
// from what the sandbox had changed in it.
func (r *viewRun) moveAgain(i int) error {
	s := &r.op.steps[i]
	from, err := r.w.host.At(string(s.From))
	if err != nil {
		return err
	}
	defer from.Close()
	if err := putTree(r.v, string(s.Path), from, ""); err != nil {
		return err
	}
	data := r.op.Kept(i)
	return overlayTree(r.v, string(s.Path), data)
}

// overlayTree puts a saved upper over what the view has.
func overlayTree(v view.View, path string, at rootfs.At) error {
	e, err := at.Stat()
	if err != nil {
		return err
	}
	if e.Whiteout() {
		return v.Remove(path, "")
	}
	if isDevice(e.Type) {
		return nil
	}
	if err := putOne(v, path, at, ""); err != nil || e.Type != entry.Dir {
		return err
	}
	names, err := at.Names()
	if err != nil {
		return err
	}
	in, err := at.Enter()
	if err != nil {
		return err
	}
	defer in.Close()
	for _, name := range names {
		if err := overlayTree(v, join(path, name), in.Sibling(name)); err != nil {
			return err
		}
	}
	return nil
}

// undoReject gives the sandbox back what the reject took.
func (w *work) undoReject(op *operation) error {
	v, err := w.env.View()
	if err != nil {
		return err
	}
	r := &viewRun{w: w, op: op, v: v}
	if err := v.Sync(); err != nil {
		return err
	}
	if err := r.asLeft(); err != nil {
		return err
	}
	if err := op.SetState(journal.Undoing); err != nil {
		return err
	}
	crash("undoing")
	left, err := w.finishBack(op)
	if err != nil {
		return err
	}
	if err := op.SetState(journal.Undone); err != nil {
		return err
	}
	return leftBehind("undo", op, left)
}

// oldDirTimes sets the metadata of directories again that came back.
func (r *viewRun) oldDirTimes() error {
	for i := range r.op.steps {
		s := &r.op.steps[i]
		if s.Do != doRemove || s.Type != entry.Dir || !s.tried {
			continue
		}
		meta, err := r.op.Kept(i).Meta()
		if err != nil {
			return err
		}
		if err := r.v.Setattr(string(s.Path), meta); err != nil {
			return err
		}
	}
	return nil
}

// asLeft checks that the sandbox still is as the reject left it.
func (r *viewRun) asLeft() error {
	now := map[string]entry.Print{}
	var hidden []string // directories that would be deleted again by then
	for i := len(r.op.steps) - 1; i >= 0; i-- {
		s := &r.op.steps[i]
		path := string(s.Path)
		print, known := now[path]
		if !known && slices.ContainsFunc(hidden, func(dir string) bool { return below(path, dir) }) {
			print, known = entry.PrintNone, true
		}
		if !known {
			var err error
			if print, err = r.v.Print(path); err != nil {
				return err
			}
		}
		same := print == s.After
		if same && s.Do == doShow {
			// All of it is the host's, unless the sandbox wrote there again.
			where, _, err := r.w.upper.look(path)
			if err != nil {
				return err
			}
			same = where != present || s.After != entry.PrintDir || r.equalsHost(path)
		}
		if !same {
			return fault.New(fault.Stale, "undo", path, "it is not as the operation left it in the sandbox",
				"Nothing was written.")
		}
		if s.Do == doShow {
			hidden = append(hidden, path)
		}
		now[path] = s.Before
		if s.Before == view.EmptyDir {
			now[path] = "dir"
		}
	}
	return nil
}

// equalsHost says whether the upper has nothing of its own below a directory.
func (r *viewRun) equalsHost(path string) bool {
	list, err := r.w.upper.list(path)
	if err != nil {
		return false
	}
	for p := range list {
		host, err := r.w.host.At(p)
		if err != nil {
			return false
		}
		want, err := host.Print()
		host.Close()
		if err != nil {
			return false
		}
		up, err := r.w.upper.at(p)
		if err != nil {
			return false
		}
		have, err := up.Print()
		up.Close()
		if err != nil || have != want {
			return false
		}
	}
	return true
}
