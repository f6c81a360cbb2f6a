package apply

import (
	"errors"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/journal"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// A reject that was cut short is taken back, as an accept is: the sandbox has
// its changes again. What the journal has of a step was copied there before
// the first step, and a step that was begun is told by what the view shows.

// failInView is fail for the sandbox's view.
func (w *work) failInView(r *viewRun, cause error) error {
	left, err := w.backInView(r.op)
	switch {
	case err != nil:
		return errors.Join(cause, err)
	case len(left) > 0:
		return errors.Join(cause, leftBehind(r.op.Kind, r.op, left), r.op.SetState(journal.Undone))
	}
	r.op.Drop()
	return cause
}

// backInView takes a reject back. It can be called again.
func (w *work) backInView(op *operation) (left []string, err error) {
	begun := false
	for i := range op.steps {
		begun = begun || op.steps[i].tried
	}
	if !begun {
		return nil, nil
	}
	v, err := w.env.View()
	if err != nil {
		return nil, err
	}
	if err := v.Sync(); err != nil {
		return nil, err
	}
	r := &viewRun{w: w, op: op, v: v}
	if err := r.sweep(); err != nil {
		return nil, err
	}
	for i := len(op.steps) - 1; i >= 0; i-- {
		s := &op.steps[i]
		if !s.tried {
			continue
		}
		done, err := r.standsDone(s)
		if err == nil && done == somebodys {
			left = append(left, string(s.Path))
			continue
		}
		if err == nil && done == yes {
			err = r.revert(i)
		}
		if err != nil {
			return left, &fault.Error{
				Code: fault.CodeOf(err), Op: "take back", Path: string(s.Path), Err: err,
				Hint: "The next command tries again. What the sandbox had is kept in " + op.Dir() + ".",
			}
		}
		crash("back")
	}
	return left, r.oldDirTimes()
}

type answer int

const (
	no        answer = iota // it was not done, or is taken back
	yes                     // it was done, at least in part
	somebodys               // somebody else was there since
)

// standsDone says whether the view shows what a step does.
func (r *viewRun) standsDone(s *step) (answer, error) {
	if s.Do == doUnmove {
		return yes, nil // it may have been done in part, and comes back over what is left
	}
	now, err := r.v.Print(string(s.Path))
	if err != nil {
		return no, err
	}
	before := s.Before
	if before == view.EmptyDir {
		before = entry.PrintDir
	}
	switch {
	case s.Do == doAttr && now == before:
		return yes, nil
	case now == before:
		return no, nil
	case now != s.After:
		return somebodys, nil
	case s.Do == doShow:
		// What is seen is the host's, unless the sandbox made one of its own.
		where, _, err := r.w.upper.look(string(s.Path))
		if err != nil || (where == present && s.After == entry.PrintDir && !r.equalsHost(string(s.Path))) {
			return somebodys, err
		}
	}
	return yes, nil
}

// sweep removes the temporaries that an init left which was killed at work.
func (r *viewRun) sweep() error {
	seen := map[string]bool{}
	for i := range r.op.steps {
		s := &r.op.steps[i]
		dir := parent(string(s.Path))
		if !s.tried || seen[dir] {
			continue
		}
		seen[dir] = true
		names, err := r.w.upper.names(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if rootfs.IsTemp(name) {
				if err := r.v.Remove(join(dir, name), ""); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
