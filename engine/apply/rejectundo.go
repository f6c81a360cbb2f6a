package apply

import (
	"slices"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/journal"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

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
