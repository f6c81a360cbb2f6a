package apply

import (
	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/rootfs"
)

// fewSteps is up to how many steps each file is synced by itself. syncfs also
// waits for what all other programs have written, which on a busy disk is far
// more than the block that somebody is waiting for.
const fewSteps = 4

// makeDurable makes what was written last through a power cut.
func (r *treeRun) makeDurable() {
	if len(r.op.steps) > fewSteps {
		r.syncFileSystems()
		return
	}
	for i := range r.op.steps {
		_ = r.with(r.op.steps[i].Path, func(at rootfs.At) error {
			if f, _, err := entry.OpenFile(at.Dir, at.Name); err == nil {
				_ = f.Sync()
				_ = f.Close()
			}
			dir, err := entry.Reopen(at.Dir)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(dir) }()
			return unix.Fsync(dir)
		})
	}
}

// syncFileSystems asks the file systems that were written to for one sync each.
func (r *treeRun) syncFileSystems() {
	seen := map[uint64]bool{}
	for i := range r.op.steps {
		_ = r.with(r.op.steps[i].Path, func(at rootfs.At) error {
			dir, err := entry.OfFd(at.Dir)
			if err != nil || seen[dir.Dev] {
				return err
			}
			fd, err := entry.Reopen(at.Dir)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			seen[dir.Dev] = true
			return unix.Syncfs(fd)
		})
	}
}
