package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/journal"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// Undo takes back one operation: that of an id, or with "" the newest that was
// not taken back yet. It is refused with fault.Stale, before anything is
// written, where the host (after an accept) or the sandbox (after a reject) is
// not as the operation left it; fault.NothingUndo says that there is none.
//
// What an accept had taken is a change of the sandbox again afterwards, also
// when the upper had forgotten it because it was equal to the host.
//
// The caller holds the sandbox's operation lock.
func Undo(ctx context.Context, env Env, id string) (Result, error) {
	op, err := pick(env.Journal, id)
	if err != nil {
		return Result{}, err
	}
	defer op.Close()
	w, err := open(env)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	if err := ctx.Err(); err != nil {
		return Result{}, fault.Wrap(fault.Failed, "undo", "", err)
	}
	if op.Tree == inView {
		err = w.undoReject(op)
	} else if op.Tree == inUpper {
		err = w.undoDown(op)
	} else if err = w.undoAccept(op); err == nil && op.with != "" {
		err = w.undoMerge(op)
	}
	if err != nil {
		return Result{}, err
	}
	result := Result{ID: op.ID}
	for _, r := range op.rows {
		result.Done = append(result.Done, Row{string(r.Path), r.Kind})
	}
	return result, nil
}

// pick finds the operation to take back.
func pick(path, id string) (*operation, error) {
	all, err := journal.List(path)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(all) {
		switch {
		case id != "" && name.ID != id:
		case name.State == journal.Done:
			return load(path, name)
		case id != "":
			return nil, fault.New(fault.NothingUndo, "undo", id, "it was taken back already", "")
		}
	}
	if id != "" {
		return nil, fault.New(fault.NothingUndo, "undo", id, "the journal has no such operation", "")
	}
	return nil, fault.New(fault.NothingUndo, "undo", "", "there is nothing to take back", "")
}

// undoAccept gives the host back what the accept replaced.
func (w *work) undoAccept(op *operation) error {
	w.host.Hold(true)
	w.upper.hold(true)
	if err := w.asLeft(op); err != nil {
		return err
	}
	lost, err := w.forgotten(op)
	if err != nil {
		return err
	}
	w.host.Forget()
	w.upper.hold(false)
	op.lost = lost
	if len(lost) > 0 {
		all := slices.Sorted(maps.Keys(lost))
		if err := op.Add(line{Lost: &all}); err != nil {
			return err
		}
	}
	crash("lost")
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

// markUndone says that the host's files, which are newer now than the
// sandbox's, are no one's edit.
func (w *work) markUndone(op *operation) error {
	var moves []step
	for i := range op.steps {
		s := &op.steps[i]
		if s.Do == doMove {
			moves = append(moves, *s)
		}
		if s.Do != doMake && s.Do != doAttr {
			continue
		}
		e, err := w.stat(w.host, movedBack(moves, string(s.Path)))
		if err != nil || !e.Exists() {
			continue
		}
		if err := w.upper.accepted(string(s.Path), e.CtimeNs); err != nil {
			return err
		}
	}
	return w.noteUndone(op)
}

// asLeft checks that every path still is as the operation left it. It goes
// through the steps backwards, as the undo will, and keeps in mind what would
// have been taken back by then.
func (w *work) asLeft(op *operation) error {
	c := check{w: w, now: map[string]entry.Print{}, made: map[string]bool{}}
	for i := range op.steps {
		if op.steps[i].Do == doMake || op.steps[i].Do == doMove {
			c.made[string(op.steps[i].Path)] = true
		}
	}
	for i := len(op.steps) - 1; i >= 0; i-- {
		if err := c.step(&op.steps[i]); err != nil {
			return err
		}
	}
	if len(c.moved) == 0 {
		return op.adopt(c.refreshed)
	}
	sort.Strings(c.moved)
	reason := "it is not as the operation left it"
	if n := len(c.moved) - 1; n > 0 {
		reason += fmt.Sprintf(" (and %d more)", n)
	}
	return fault.New(fault.Stale, "undo", c.moved[0], reason, "Nothing was written. Undo by hand what came later, or leave it.")
}

type check struct {
	w     *work
	now   map[string]entry.Print // what the undo so far would have made of a path
	moves []step                 // taken back so far
	made  map[string]bool        // paths that the operation made
	moved []string               // paths that are not as they were left
	// refreshed are the indexes that git wrote anew and that stage what they did.
	refreshed []refreshed
}

// where is the place at which the host has, now, what the undo so far would
// have at path.
func (c *check) where(path string) string {
	for i := len(c.moves) - 1; i >= 0; i-- {
		if s := &c.moves[i]; within(path, string(s.From)) {
			path = string(s.Path) + path[len(s.From):]
		}
	}
	return path
}

func (c *check) step(s *step) error {
	path := string(s.Path)
	print, known := c.now[path]
	var e entry.Entry
	at, err := c.w.host.At(c.where(path))
	switch {
	case known:
	case err != nil && ignoreMissing(err) == nil:
		print = entry.PrintNone
	case err != nil:
		return err
	default:
		defer at.Close()
		if print, err = at.Print(); err == nil {
			e, err = at.Stat()
		}
		if err != nil {
			return explain("undo", path, err)
		}
	}
	same := print == s.After || known && print == "" // it was not read then
	if !known && !same && s.Staged != "" && e.Type == entry.File && stagedAt(at) == s.Staged {
		c.refreshed = append(c.refreshed, refreshed{s, nodeOf(e), print})
		same = true
	} else if !known && s.New != nil && e.Type != entry.Symlink && e.Mode != s.New.Mode {
		same = false
	}
	if same && !known && s.Do == doMake && s.Type == entry.Dir {
		if same, err = c.onlyOurs(at, path); err != nil {
			return err
		}
	}
	if !same {
		c.moved = append(c.moved, path)
	}
	switch s.Do {
	case doMove:
		c.moves = append(c.moves, *s)
		c.now[path] = entry.PrintNone
	default:
		c.now[path] = s.Before
	}
	return nil
}

// onlyOurs says whether a directory that was made holds only what was made.
func (c *check) onlyOurs(at rootfs.At, path string) (bool, error) {
	names, err := at.Names()
	if err != nil {
		return false, explain("undo", path, err)
	}
	for _, name := range names {
		if !c.made[join(path, name)] {
			return false, nil
		}
	}
	return true, nil
}

// forgotten finds the steps of which the upper has no word any more, because
// it was equal to the host and was pruned.
func (w *work) forgotten(op *operation) (map[int]bool, error) {
	lost := map[int]bool{}
	for i := range op.steps {
		s := &op.steps[i]
		if s.Implied || s.Do == doMove && isPark(string(s.Path)) {
			continue
		}
		where, _, err := w.upper.look(string(s.Path))
		if err != nil {
			return nil, err
		}
		if where == through {
			lost[i] = true
		}
	}
	return lost, nil
}

// remember puts what was forgotten back into the sandbox, now that the host
// has something else there again.
func (w *work) remember(op *operation) error {
	v, err := w.env.View()
	if err != nil {
		return err
	}
	if err := v.Sync(); err != nil {
		return err
	}
	for i := range op.steps {
		if !op.lost[i] {
			continue
		}
		if err := w.rememberStep(v, op, i); err != nil && fault.CodeOf(err) != fault.Stale {
			return err
		}
	}
	return nil
}

func (w *work) rememberStep(v view.View, op *operation, i int) error {
	s := &op.steps[i]
	path := string(s.Path)
	switch s.Do {
	case doRemove:
		return v.Remove(path, s.Before)
	case doAttr:
		return v.Setattr(path, *s.New)
	case doMove:
		from := string(s.From)
		for j := range slices.Backward(op.steps[:i]) { // its first place
			if p := &op.steps[j]; p.Do == doMove && p.Path == s.From {
				from = string(p.From)
			}
		}
		at, err := w.host.At(from)
		if err != nil {
			return err
		}
		defer at.Close()
		if err := putTree(v, path, at, entry.PrintNone); err != nil {
			return err
		}
		return v.Remove(from, "dir")
	case doMake:
		if s.Type == entry.Dir {
			return v.Mkdir(path, *s.New, s.Before)
		}
		after := op.After(i)
		if e, err := after.Stat(); err != nil || !e.Exists() {
			return err // it was made again before
		}
		return putOne(v, path, after, s.Before)
	}
	return nil
}
