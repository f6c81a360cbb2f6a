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
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/launch"
	"sandbox/engine/store"
)

// Main is the whole program when it was executed as a keeper with the storage
// directory and the name of a sandbox. It returns the exit code.
func Main(args []string) int {
	_ = unix.CloseRange(launch.KeeperPidfd+1, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(launch.KeeperPidfd)
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE)
	if len(args) != 2 {
		log.Print("keeper: wants a storage directory and a name")
		return 2
	}
	dir := store.At(args[0], args[1])
	lock, err := store.TryLock(dir.Path(launch.KeeperLock))
	if err != nil {
		log.Print(err)
		return 1
	}
	if lock == nil {
		return 0 // another one was faster
	}
	defer func() { _ = lock.Close() }()
	inUse := newestWork(dir)
	clearWork(dir, inUse)
	waitFor(launch.KeeperPidfd)
	if err := launch.Sync(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Print(err)
	}
	// A next run has made its own work directory by now, or will.
	if inUse != "" {
		remove(dir.Path(inUse))
	}
	return 0
}

// waitFor blocks until the process of a pidfd has ended.
func waitFor(pidfd int) {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1)
		if n > 0 || (err != nil && !errors.Is(err, unix.EINTR)) {
			return
		}
	}
}

// newestWork returns the name of the youngest work directory, which is the
// running sandbox's: each start makes a fresh one under the lock.
func newestWork(dir store.Dir) string {
	newest := ""
	for _, w := range works(dir) {
		if len(w) > len(newest) || (len(w) == len(newest) && w > newest) {
			newest = w
		}
	}
	return newest
}

func works(dir store.Dir) []string {
	ents, _ := os.ReadDir(dir.Path())
	var out []string
	for _, e := range ents {
		if strings.HasPrefix(e.Name(), "work.") {
			out = append(out, e.Name())
		}
	}
	return out
}

// clearWork removes work directories that crashed runs have left.
func clearWork(dir store.Dir, except string) {
	for _, w := range works(dir) {
		if w != except {
			remove(dir.Path(w))
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
