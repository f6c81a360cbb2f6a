// Package keeper is the process that looks after a running sandbox from
// outside its namespaces, as the same user: it lives as long as the sandbox's
// init, and afterwards syncs the storage and clears away what a run leaves.
package keeper

import (
	"errors"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/engine/launch"
	"sandbox/engine/store"
)

// Main is the whole program when it was executed as a keeper with the storage
// directory and the name of a sandbox. It returns the exit code.
func Main(args []string) int {
	_ = unix.CloseRange(launch.KeeperPidfd+1, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(launch.KeeperPidfd)
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE)
	if len(args) != 3 {
		log.Print("keeper: wants a storage directory, a name and a work directory")
		return 2
	}
	dir, work := store.At(args[0], args[1]), args[2]
	lock, err := store.TryLock(dir.Path(launch.KeeperLock))
	if err != nil {
		log.Print(err)
		return 1
	}
	if lock == nil {
		return 0 // another one was faster
	}
	defer func() { _ = lock.Close() }()
	clearUp(dir, work)
	watch(dir, work)
	if err := launch.Sync(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Print(err)
	}
	if work != "" {
		remove(dir.Path(work))
	}
	return 0
}

// watch writes down the bases of what programs change until init has ended. It
// is polite: who waits for a program inside does not wait for it.
func watch(dir store.Dir, work string) {
	yieldTo()
	meta, err := dir.LoadMeta()
	var k *keeping
	if err == nil {
		k, err = newKeeping(meta.Tree(dir), dir.Path(base.Dir), launch.KeeperPidfd, begunAt(work))
	}
	if err != nil {
		log.Print(err) // then bases are unknown, and the times of files must do
		waitFor(launch.KeeperPidfd, -1)
		return
	}
	defer k.close()
	for !k.ended() {
	}
}

// begunAt is when the run began: it is in the name of its work directory.
func begunAt(work string) int64 {
	ns, _ := strconv.ParseInt(strings.TrimPrefix(work, "work."), 36, 64)
	return min(ns, time.Now().UnixNano())
}

// yieldTo lets others have the processor and the disk first. It is asked for
// the whole process group, which is this process with all of its threads: for a
// process the kernel would take the one thread that asks.
func yieldTo() {
	if unix.Getpgrp() != os.Getpid() {
		return
	}
	_ = unix.Setpriority(unix.PRIO_PGRP, 0, 10)
	const whoGroup, bestEffort, last = 2, 2 << 13, 7
	_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, whoGroup, 0, bestEffort|last)
}

// clearUp removes what runs that were killed have left. While init lives nobody
// else uses the storage, so what was there before is nobody's; that is why the
// names are read before looking whether init lives.
func clearUp(dir store.Dir, work string) {
	ents, _ := os.ReadDir(dir.Path())
	if work == "" || waitFor(launch.KeeperPidfd, 0) {
		return
	}
	for _, e := range ents {
		switch name := e.Name(); {
		case name == work:
		case strings.HasPrefix(name, "work."), strings.HasPrefix(name, store.PidFile+".tmp-"), strings.HasPrefix(name, store.MetaFile+".tmp-"):
			remove(dir.Path(name))
		}
	}
}

// waitFor waits for the end of the process of a pidfd, up to a number of
// milliseconds or for ever (-1), and reports whether it has ended.
func waitFor(pidfd, ms int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, ms)
		if err == nil || !errors.Is(err, unix.EINTR) {
			return n > 0 || err != nil
		}
	}
}

// remove removes a tree that may hold directories of mode 000, as overlayfs
// makes them in its work directory.
func remove(path string) {
	if err := store.RemoveTree(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Printf("remove %s: %v", filepath.Base(path), err)
	}
}
