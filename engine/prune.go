package engine

import (
	"context"
	"time"

	"sandbox/engine/apply"
	"sandbox/engine/store"
)

// pruneTime bounds a prune. What it did not come to waits for the next one.
const pruneTime = 2 * time.Second

// prune lets go of what a sandbox that is down shares with the host, so that
// later edits on the host are seen inside. It holds the sandbox's lock, so
// nothing is mounted meanwhile: a start waits. The caller holds the lock of
// operations. Nothing depends on it, so errors do not matter.
func (b *box) prune(ctx context.Context) {
	lock, err := store.TryLock(b.dir.Path(store.LockFile))
	if err != nil || lock == nil {
		return
	}
	defer lock.Close()
	ctx, cancel := context.WithTimeout(ctx, pruneTime)
	defer cancel()
	_ = apply.Prune(ctx, apply.Env{Tree: b.tree, Journal: b.journal()})
}

func (b *box) journal() string { return b.dir.Path(store.Journal) }

// holdDown takes the sandbox's lock, when nobody has it: until it is released
// nothing can mount the uppers.
func (b *box) holdDown() (release func(), down bool) {
	lock, err := store.TryLock(b.dir.Path(store.LockFile))
	if err != nil || lock == nil {
		return nil, false
	}
	return func() { _ = lock.Close() }, true
}
