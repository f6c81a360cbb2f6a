package store

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// TryLock takes a flock on path, made when missing. It returns (nil, nil) when
// somebody else holds it. The lock lives as long as any copy of the descriptor:
// handing the file to a child hands the lock on.
func TryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "open lock", path, err)
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if errors.Is(err, unix.EWOULDBLOCK) {
			// Whoever asks Held has a shared lock for a moment. It is no
			// holder, and only a holder keeps others from sharing.
			err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
			if err == nil {
				_ = unix.Flock(int(f.Fd()), unix.LOCK_UN)
				time.Sleep(askTime)
				continue
			}
		}
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fault.Wrap(fault.Failed, "lock", path, err)
	}
}

// askTime is about how long Held keeps its shared lock.
const askTime = 50 * time.Microsecond

// Held reports whether somebody holds the flock on path.
func Held(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	// A shared lock fails exactly when an exclusive one is held, and two
	// askers do not mistake each other for a holder.
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// WhileFree calls f when nobody holds the flock on path. Until f returns nobody
// gets it: TryLock waits.
func WhileFree(path string, f func()) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	if unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		f()
	}
}

// OpLock takes the lock of the operations that change a sandbox or the host
// (accept, reject, undo). It waits up to wait, then names the holder. Close
// the file to give it back.
func (d Dir) OpLock(what string, wait time.Duration) (*os.File, error) {
	path := d.Path(OpLockFile)
	end := time.Now().Add(wait)
	for {
		f, err := TryLock(path)
		if err != nil {
			return nil, err
		}
		if f != nil {
			_ = f.Truncate(0)
			_, _ = f.WriteAt([]byte(what+" (pid "+strconv.Itoa(os.Getpid())+")"), 0)
			return f, nil
		}
		if time.Now().After(end) {
			holder, _ := os.ReadFile(path)
			return nil, fault.New(fault.Busy, what, d.Name,
				"another operation is under way: "+strings.TrimSpace(string(holder)), "Try again when it is done.")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
