package apply

import (
	"context"
	"errors"
	"fmt"

	"sandbox/engine/fault"
	"sandbox/engine/journal"
)

// Pending says, at the cost of one look at a directory, whether an operation
// may have been cut short, or is under way.
func Pending(path string) bool { return journal.Pending(path) }

// Recover takes back every operation that was cut short: by a kill, or because
// taking it back at once did not work either. It says in words what it did.
//
// An operation that cannot be read is set aside and named; nothing of it is
// lost. One that a newer version wrote is an error, and nothing is done.
//
// The caller holds the sandbox's operation lock.
func Recover(ctx context.Context, env Env) (notes []string, err error) {
	all, err := journal.List(env.Journal)
	if err != nil {
		return nil, err
	}
	journal.Sweep(env.Journal)
	for i := len(all) - 1; i >= 0; i-- {
		if !all[i].Interrupted() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return notes, fault.Wrap(fault.Failed, "recover", env.Journal, err)
		}
		note, err := recoverOne(env, all[i])
		if err != nil {
			return notes, err
		}
		notes = append(notes, note)
	}
	return notes, nil
}

func recoverOne(env Env, name journal.Name) (string, error) {
	op, err := load(env.Journal, name)
	if fault.CodeOf(err) == fault.Damaged {
		to, aerr := journal.SetAside(env.Journal, name)
		if aerr != nil {
			return "", errors.Join(err, aerr)
		}
		return fmt.Sprintf("%s was cut short, and its journal is damaged (%v). It was set aside in %s: what it had replaced by then is in data/ there, files it was at work on may have names that begin with .sandbox-tmp-. Nothing was deleted.",
			name.ID, err, to), nil
	}
	if err != nil {
		return "", err
	}
	defer op.Close()
	w, err := open(env)
	if err != nil {
		return "", err
	}
	defer w.close()
	if op.State == journal.Finishing {
		return fmt.Sprintf("%s was cut short after it was done, and has been finished", op.ID), w.run(op).conclude()
	}
	left, err := w.finishBack(op)
	if err != nil {
		return "", err
	}
	note := fmt.Sprintf("%s was cut short and has been taken back", op.ID)
	if op.State == journal.Undoing {
		note = fmt.Sprintf("the undo of %s was cut short and has been finished", op.ID)
	}
	if len(left) == 0 && op.State == journal.Started {
		op.Drop()
		return note, nil
	}
	if err := op.SetState(journal.Undone); err != nil {
		return "", err
	}
	if err := leftBehind("recover", op, left); err != nil {
		note += "; " + err.Error() + ". " + fault.HintOf(err)
	}
	return note, nil
}

// fail takes back an operation that could not be done to its end. The cause
// says that nothing was written; where that is not so, the error says more.
func (w *work) fail(r *treeRun, cause error) error {
	left, err := w.finishBack(r.op)
	if err != nil {
		return errors.Join(cause, err)
	}
	if len(left) == 0 {
		r.op.Drop()
		return cause
	}
	return errors.Join(cause, leftBehind(r.op.Kind, r.op, left), r.op.SetState(journal.Undone))
}

// finishBack takes an operation back, wherever it is. It can be called again.
func (w *work) finishBack(op *operation) (left []string, err error) {
	// Last, when the keeper has seen what came back.
	defer func() {
		if err == nil {
			w.keeperSaw()
			w.restoreBases(op)
		}
	}()
	if op.Tree == inView {
		return w.backInView(op)
	}
	if op.Tree == inUpper {
		return w.backDown(op)
	}
	r := w.run(op)
	if err := r.takeBack(); err != nil {
		return r.left, err
	}
	w.unmark(op)
	crash("unmarked")
	if op.Tree == onHost {
		// What these notes say only spares the user a conflict that is none.
		_ = w.markUndone(op)
	}
	r.makeDurable()
	if err := w.sync(op); err != nil {
		return r.left, err
	}
	if len(op.lost) > 0 {
		return r.left, w.remember(op)
	}
	return r.left, nil
}

// leftBehind is the error for paths that somebody else changed meanwhile; nil
// when there are none.
func leftBehind(what string, op *operation, left []string) error {
	if len(left) == 0 {
		return nil
	}
	reason := "it was changed meanwhile, and stays as it is"
	if n := len(left) - 1; n > 0 {
		reason += fmt.Sprintf(" (and %d more)", n)
	}
	return fault.New(fault.Stale, what, left[0], reason,
		"The rest was taken back. What the operation had replaced there is kept in "+op.Dir()+".")
}
