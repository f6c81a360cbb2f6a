package launch

import (
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/fault"
	"sandbox/engine/store"
)

// killWait bounds how long the kernel may take to end a sandbox's processes.
const killWait = 10 * time.Second

// Stop ends a running sandbox and waits until its mounts are gone and its
// writes are on disk. One that is down is left alone.
func Stop(dir store.Dir) error {
	pidfd := InitPidfd(dir)
	if pidfd >= 0 {
		defer func() { _ = unix.Close(pidfd) }()
		if l := Running(dir); l != nil {
			// Errors do not matter: what does not end by itself is killed.
			_, _ = control.Call(l.Conn, control.Request{Op: control.OpStop})
			l.Close()
		}
		if !waitGone(pidfd, time.Second) {
			_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
		}
		if !waitGone(pidfd, killWait) {
			return fault.New(fault.Failed, "stop sandbox", dir.Name, "its processes do not end",
				"One of them may wait for a disk or a network file system; see init.log.")
		}
	}
	return Sync(dir)
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
	if !store.Held(dir.Path(store.LockFile)) {
		MarkClean(dir)
	}
	return nil
}
