package launch

import (
	"syscall"

	"golang.org/x/sys/unix"

	"sandbox/engine/store"
)

// KeeperName is the name under which the binary is executed as a keeper.
const KeeperName = "sandbox-keeper"

// KeeperLock is held by a sandbox's keeper.
const KeeperLock = "keeper.lock"

// KeeperPidfd is the descriptor on which the keeper gets init's pidfd.
const KeeperPidfd = 3

// Keep starts the sandbox's keeper when it has none. It is called after the
// command runs: nobody waits for it, and a failure is only in its log.
func (l *Link) Keep() {
	if store.Held(l.Dir.Path(KeeperLock)) {
		return
	}
	pidfd, work := initOf(l.Dir)
	if pidfd < 0 {
		return
	}
	defer func() { _ = unix.Close(pidfd) }()
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(null) }()
	logfd, err := unix.Open(l.Dir.Path(store.KeeperLog), unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(logfd) }()
	pid, err := syscall.ForkExec(exe, []string{KeeperName, l.Dir.Storage, l.Dir.Name, work}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   []string{"HOME=/"},
		Files: []uintptr{uintptr(null), uintptr(logfd), uintptr(logfd), uintptr(pidfd)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err == nil {
		go reap(pid)
	}
}
