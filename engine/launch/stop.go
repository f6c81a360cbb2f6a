package launch

import (
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/fault"
	"sandbox/engine/store"
)

// stopWait bounds how long a sandbox's init may take to end its programs,
// which it kills after two seconds, and itself.
const stopWait = 3 * time.Second

// killWait bounds how long the kernel may take to end a sandbox's processes.
const killWait = 10 * time.Second

// Stop ends a running sandbox and waits until its mounts are gone and its
// writes are on disk. One that is down is left alone.
func Stop(dir store.Dir) error {
	pidfd, work, err := toStop(dir)
	if err != nil {
		return err
	}
	if pidfd >= 0 {
		defer func() { _ = unix.Close(pidfd) }()
		if l := Running(dir); l != nil {
			// Errors do not matter: what does not end by itself is killed.
			go func() {
				_, _ = control.Call(l.Conn, control.Request{Op: control.OpStop})
				l.Close()
			}()
		}
		if !waitGone(pidfd, stopWait) {
			_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
		}
		if !waitGone(pidfd, killWait) {
			return fault.New(fault.Failed, "stop sandbox", dir.Name, "its processes do not end",
				"One of them may wait for a disk or a network file system; see init.log.")
		}
	}
	err = Sync(dir)
	if work != "" {
		// The keeper does it as well, but a short run ends before it has one.
		if rerr := store.RemoveTree(dir.Path(work)); err == nil && rerr != nil {
			err = fault.Wrap(fault.Failed, "stop sandbox", dir.Name, rerr)
		}
	}
	return err
}

// toStop returns init when it lives. The lock may be held without one: by a
// start that has not noted it yet, or by what a killed start left, which ends
// by itself.
func toStop(dir store.Dir) (pidfd int, work string, err error) {
	for end := time.Now().Add(startWait); ; time.Sleep(time.Millisecond) {
		pidfd, work = initOf(dir)
		if pidfd >= 0 && waitGone(pidfd, 0) {
			_ = unix.Close(pidfd)
			pidfd = -1
		}
		if pidfd >= 0 || !store.Held(dir.Path(store.LockFile)) {
			return pidfd, work, nil
		}
		if time.Now().After(end) {
			return -1, "", fault.New(fault.Failed, "stop sandbox", dir.Name, "a process that is not known holds its lock",
				"`fuser "+dir.Path(store.LockFile)+"` finds it.")
		}
	}
}

// Sync writes all that a sandbox holds to disk. Its overlays are volatile: no
// fsync from inside has done it.
func Sync(dir store.Dir) error {
	fd, err := unix.Open(dir.Path(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fault.Wrap(fault.Failed, "open", dir.Path(), err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Syncfs(fd); err != nil {
		return fault.Wrap(fault.Failed, "sync", dir.Path(), err)
	}
	// A start in this moment must not lose the mark that it made.
	store.WhileFree(dir.Path(store.LockFile), func() { MarkClean(dir) })
	return nil
}
