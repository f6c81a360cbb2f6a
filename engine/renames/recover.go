package renames

import (
	"bytes"
	"log"
	"runtime"

	"golang.org/x/sys/unix"
)

// Recover cleans up after an init that was killed during a move: what was built
// and not put in place is removed; what was put in place is drained to its end.
// It works in the view, before any command runs, on a thread with a command's
// rights: every path in it may have been exchanged by the commands that ran.
func Recover(storage int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		j := &journal{dir: storage}
		r, err := j.read()
		if err == unix.ENOENT {
			return
		}
		if err != nil {
			log.Printf("renames: read the journal: %v", err)
			j.end()
			return
		}
		runtime.LockOSThread()
		if err := becomeCommand(); err != nil {
			log.Printf("renames: recover: %v", err)
			return
		}
		if err := r.finish(); err != nil {
			log.Printf("renames: clean up after a move that was cut off: %v", err)
		}
		j.end()
	}()
	<-done
}

// finish completes or undoes what the record says was under way.
func (r *record) finish() error {
	to, err := openPath(r.ToDir)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	if _, err := lstat(to, r.Temp); err == nil {
		return removeTree(place{to, r.Temp})
	}
	from, err := openPath(r.FromDir)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	old, now := place{from, string(r.FromName)}, place{to, string(r.ToName)}
	if bad(old.name) || bad(now.name) {
		return unix.EINVAL
	}
	// Killed between the commit and its note: the names that both trees have
	// are known to be moved, for the target was empty before.
	d := drainer{recovery: true, keep: !r.Committed}
	if err := d.dir(old, now, nil); err != unix.ENOENT && !(d.keep && err == unix.ENOTEMPTY) {
		return err
	}
	return nil
}

func bad(name string) bool {
	return name == "" || name == "." || name == ".." || bytes.ContainsAny([]byte(name), "/\x00")
}

// sameContent compares two regular files.
func sameContent(a, b place) bool {
	var fds [2]int
	for i, p := range []place{a, b} {
		fd, err := unix.Openat(p.dir, p.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return false
		}
		defer unix.Close(fd)
		fds[i] = fd
	}
	var bufs [2][]byte
	bufs[0], bufs[1] = make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := unix.Read(fds[0], bufs[0])
		if err != nil {
			return false
		}
		for got := 0; got < n; {
			k, err := unix.Read(fds[1], bufs[1][got:n])
			if err != nil || k == 0 {
				return false
			}
			got += k
		}
		if n == 0 {
			k, err := unix.Read(fds[1], bufs[1][:1])
			return err == nil && k == 0
		}
		if !bytes.Equal(bufs[0][:n], bufs[1][:n]) {
			return false
		}
	}
}
