package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/engine/fault"
	"sandbox/engine/launch"
	"sandbox/engine/store"
)

// keeping is the watch over one run of a sandbox.
type keeping struct {
	barrier string
	capture *capture
	watcher *watcher
	buf     []byte
}

func newKeeping(dir store.Dir) (*keeping, error) {
	meta, err := dir.LoadMeta()
	if err != nil {
		return nil, err
	}
	k := &keeping{barrier: dir.Path(base.Dir, base.BarrierDir), buf: make([]byte, 64<<10)}
	if k.capture, err = newCapture(dir.Path(base.Dir)); err != nil {
		return nil, err
	}
	if err := os.Mkdir(k.barrier, 0o700); err != nil && !os.IsExist(err) {
		return nil, fault.Wrap(fault.Failed, "make", k.barrier, err)
	}
	tree := meta.Tree(dir)
	if k.watcher, err = newWatcher(tree, k.barrier, k.capture); err != nil {
		return nil, fault.Wrap(fault.Failed, "watch", dir.Path(), err)
	}
	k.watcher.begin(tree)
	k.capture.begun()
	k.drain()
	ents, _ := os.ReadDir(k.barrier) // those who waited before the watch was there
	for _, e := range ents {
		k.release([]string{e.Name()})
	}
	return k, nil
}

func (k *keeping) close() {
	k.drain() // what happened last, now that nobody can do more
	k.watcher.close()
	k.capture.w.Close()
}

// ended waits for something to happen, deals with it, and reports whether init
// has ended.
func (k *keeping) ended() bool {
	fds := []unix.PollFd{
		{Fd: launch.KeeperPidfd, Events: unix.POLLIN},
		{Fd: int32(k.watcher.fd), Events: unix.POLLIN}, //nolint:gosec // a descriptor
	}
	if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
		return true
	}
	if fds[1].Revents != 0 {
		k.drain()
	}
	return fds[0].Revents != 0
}

// drain handles events until there are none.
func (k *keeping) drain() {
	var markers []string
	for {
		now := time.Now()
		found, more := k.watcher.read(k.buf)
		markers = append(markers, found...)
		if !more {
			k.capture.settled(now)
			break
		}
	}
	k.release(markers)
}

// release lets those go who waited for what is written down now.
func (k *keeping) release(markers []string) {
	for _, name := range markers {
		_ = os.Remove(filepath.Join(k.barrier, name))
	}
}
