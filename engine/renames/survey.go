package renames

import (
	"os"

	"golang.org/x/sys/unix"
)

// Limits of one move. Its caller waits, nothing can stop it but a kill, and all
// of it is copied up.
const (
	maxEntries = 200_000
	maxBytes   = 4 << 30
	maxDepth   = 200 // every level holds descriptors of init's
)

// tally counts a tree and refuses what is too large.
type tally struct {
	entries int
	bytes   int64
	uid     uint32
}

// add counts one entry. Directories that belong to somebody else cannot be made
// again as they are.
func (t *tally) add(st *unix.Stat_t) unix.Errno {
	t.entries++
	if !isDir(st) {
		t.bytes += st.Blocks * 512
	} else if st.Uid != t.uid {
		return unix.EPERM
	}
	if t.entries > maxEntries || t.bytes > maxBytes {
		return unix.E2BIG
	}
	return 0
}

// survey walks a tree before anything is done, so that most of what cannot be
// moved, or cannot be removed afterwards, costs no copy. The tree may change
// behind it: the builder counts again.
func survey(at place) (tally, unix.Errno) {
	t := tally{uid: uint32(os.Geteuid())} //nolint:gosec // an id
	errno := t.dir(at, 0)
	return tally{uid: t.uid}, errno
}

func (t *tally) dir(at place, depth int) unix.Errno {
	if depth > maxDepth {
		return unix.E2BIG
	}
	fd, err := openDir(at.dir, at.name)
	if err != nil {
		return errnoOf(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errnoOf(err)
	}
	if errno := t.add(&st); errno != 0 {
		return errno
	}
	if pinned(fd) {
		return unix.EPERM
	}
	names, err := readNames(fd)
	if err != nil {
		return errnoOf(err)
	}
	for _, name := range names {
		st, err := lstat(fd, name)
		if err != nil {
			return errnoOf(err)
		}
		var errno unix.Errno
		if isDir(&st) {
			errno = t.dir(place{fd, name}, depth+1)
		} else {
			errno = t.add(&st)
		}
		if errno != 0 {
			return errno
		}
	}
	return 0
}

// pinned reports whether nothing can be removed from a directory.
func pinned(fd int) bool {
	const flags = unix.STATX_ATTR_IMMUTABLE | unix.STATX_ATTR_APPEND
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, 0, &st)
	return err != nil || st.Attributes&flags != 0
}
