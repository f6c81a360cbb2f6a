package engine

import (
	"time"

	"sandbox/engine/base"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/launch"
	"sandbox/engine/store"
)

// barrierTime bounds how long a look at the changes waits for the keeper. What
// it has not written down by then is unknown, which is never wrong.
const barrierTime = 500 * time.Millisecond

// bases loads what is known about the host's versions at the time of each
// copy-up, once for this look.
func (b *box) bases() {
	if b.tree.Base != nil {
		return
	}
	b.barrier()
	dir := b.dir.Path(base.Dir)
	set, err := base.Load(dir)
	if err != nil {
		set = &base.Set{} // the times of the files must do
	}
	b.tree.Base = set
}

// barrier waits for the keeper, when there is one.
func (b *box) barrier() {
	if store.Held(b.dir.Path(launch.KeeperLock)) {
		base.Barrier(b.dir.Path(base.Dir), barrierTime)
	}
}

// refine takes the conflict off every change of which the three versions merge.
func (b *box) refine(list []changes.Change) {
	for i := range list {
		c := &list[i]
		if !c.Conflict || c.Base != changes.BaseKnown || c.Kind != changes.Modified {
			continue
		}
		if host, sandbox, old, ok := b.three(c); ok {
			if _, clean := diff.Merge(old, host, sandbox); clean {
				c.Conflict = false
			}
		}
	}
}

// three reads the three versions of a change.
func (b *box) three(c *changes.Change) (host, sandbox, old diff.Side, ok bool) {
	if c.From != "" || c.Upper == "" || c.Host.Size > base.MaxContent*8 || c.Sandbox.Size > base.MaxContent*8 {
		return host, sandbox, old, false
	}
	host, _, err := readHost(c.Path)
	if err != nil || host.Type != entry.File {
		return host, sandbox, old, false
	}
	if old, ok = b.tree.BaseSide(c.Path, host); !ok {
		return host, sandbox, old, false
	}
	sandbox, _, err = b.readUpper(c.Upper)
	return host, sandbox, old, err == nil && sandbox.Type == entry.File
}
