package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/engine/changes"
	"sandbox/engine/fault"
)

// keeping is the watch over one run of a sandbox.
type keeping struct {
	init    int // its pidfd
	barrier string
	capture *capture
	watcher *watcher
	buf     []byte
}

// newKeeping begins to watch over a sandbox that init serves since a moment.
// init is its pidfd.
func newKeeping(tree changes.Tree, dir string, init int, since int64) (*keeping, error) {
	k := &keeping{init: init, barrier: filepath.Join(dir, base.BarrierDir), buf: make([]byte, 64<<10)}
	var err error
	if k.capture, err = newCapture(dir, tree.Xattr, since); err != nil {
		return nil, fault.Wrap(fault.Failed, "open", dir, err)
	}
	if err := os.Mkdir(k.barrier, 0o700); err != nil && !os.IsExist(err) {
		k.capture.w.Close()
		return nil, fault.Wrap(fault.Failed, "make", k.barrier, err)
	}
	if k.watcher, err = newWatcher(tree, k.barrier, k.capture); err != nil {
		k.capture.w.Close()
		return nil, fault.Wrap(fault.Failed, "watch", tree.Storage, err)
	}
	k.watcher.begin(tree)
	k.capture.begun()
	k.drain()
	k.release(k.watcher.waiting()) // those who waited before the watch was there
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
		{Fd: int32(k.init), Events: unix.POLLIN},       //nolint:gosec // a descriptor
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

// drain handles events until there are none. Each batch is written down at
// once, and who waits for it may go: a program that is busy must not hold up
// who looks at what it did.
func (k *keeping) drain() {
	k.watcher.woken = time.Now().UnixNano()
	k.capture.follow()
	for {
		now := time.Now()
		markers, more := k.watcher.read(k.buf)
		if !more {
			k.capture.settled(now)
			return
		}
		k.capture.flush()
		k.release(markers)
	}
}

// release lets those go who waited for what is written down now.
func (k *keeping) release(markers []string) {
	for _, name := range markers {
		_ = os.Remove(filepath.Join(k.barrier, name))
	}
}
