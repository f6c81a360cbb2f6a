package engine

import (
	"context"

	"sandbox/engine/apply"
	"sandbox/engine/base"
	"sandbox/engine/fault"
	"sandbox/engine/store"
)

// Every command that opens a sandbox first takes back what an operation left
// that was cut short. Without one, that costs a look at one directory.

// openRecovered is open for who only looks. An operation that is under way is
// not waited for; what cannot be recovered is told and stands in nobody's way.
func (e *Engine) openRecovered(ctx context.Context, name string) (*box, error) {
	b, err := e.open(name)
	if err != nil || !apply.Pending(b.journal()) {
		return b, err
	}
	lock, err := store.TryLock(b.dir.Path(store.OpLockFile))
	if err != nil || lock == nil {
		return b, nil // it is only looked at
	}
	defer lock.Close()
	if err := e.recover(ctx, b); err != nil {
		hint := fault.HintOf(err)
		if hint != "" {
			hint = " " + hint
		}
		e.notice("an operation that was cut short could not be taken back: " + err.Error() + "." + hint)
	}
	return b, nil
}

// recover takes back what was cut short. The caller holds the lock of
// operations.
func (e *Engine) recover(ctx context.Context, b *box) error {
	if !apply.Pending(b.journal()) {
		return nil
	}
	s := e.session(b.dir.Name)
	notes, err := apply.Recover(ctx, apply.Env{
		Tree: b.tree, Journal: b.journal(), Base: b.dir.Path(base.Dir), Barrier: b.barrier, View: s.open, Hold: b.holdDown, Running: e.running(b.dir.Name),
	})
	for _, note := range notes {
		e.notice(note)
	}
	if cerr := s.close(ctx); err == nil {
		err = cerr
	}
	return err
}

func (e *Engine) notice(text string) {
	if e.Notice != nil {
		e.Notice(text)
	}
}
