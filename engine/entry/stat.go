package entry

import (
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// statMask is what an Entry holds.
const statMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME

// At describes the entry name in the directory dirfd; a symlink is described,
// not followed. An entry that does not exist is Entry{Type: None} and no error.
//
// name is one component: an empty name, ".", ".." and a name with a slash are
// refused (EINVAL), because a directory part would be walked through symlinks.
func At(dirfd int, name string) (Entry, error) {
	if err := checkName("look at", name); err != nil {
		return Entry{}, err
	}
	for {
		e, again, err := look(dirfd, name)
		if !again {
			return e, err
		}
	}
}

// look is one try of At. again says that the entry was a symlink and is
// something else by now: there is somebody who exchanges it.
func look(dirfd int, name string) (e Entry, again bool, err error) {
	var st unix.Statx_t
	if err := statxNoFollow(dirfd, name, &st); err != nil {
		if err == unix.ENOENT {
			return Entry{Type: None}, false, nil
		}
		return Entry{}, false, fault.Wrap(fault.Failed, "look at", name, err)
	}
	e = fromStatx(&st)
	if e.Type != Symlink {
		return e, false, nil
	}
	e.Target, err = readlinkat(dirfd, name, e.Size)
	switch err {
	case nil:
		return e, false, nil
	case unix.ENOENT:
		return Entry{Type: None}, false, nil
	case unix.EINVAL:
		return Entry{}, true, nil
	}
	return Entry{}, false, fault.Wrap(fault.Failed, "read link", name, err)
}

// OfFd describes what is open at fd (O_PATH is enough). The target of a
// symlink is not read.
func OfFd(fd int) (Entry, error) {
	var st unix.Statx_t
	for {
		err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_SYNC_AS_STAT, statMask, &st)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Entry{}, fault.Wrap(fault.Failed, "look at", "an open file", err)
		}
		return fromStatx(&st), nil
	}
}

// Whiteout reports whether e is overlayfs's mark for a deleted name: a
// character device 0:0. It means that only in an upper directory.
func (e Entry) Whiteout() bool { return e.Type == Char && e.Rdev == 0 }

// Exists reports whether there is something.
func (e Entry) Exists() bool { return e.Type != None && e.Type != "" }

// SameFile reports whether both describe one inode.
func (e Entry) SameFile(o Entry) bool {
	return e.Exists() && e.Dev == o.Dev && e.Ino == o.Ino
}

func statxNoFollow(dirfd int, name string, st *unix.Statx_t) error {
	for {
		err := unix.Statx(dirfd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT|unix.AT_STATX_SYNC_AS_STAT, statMask, st)
		if err != unix.EINTR {
			return err
		}
	}
}

func fromStatx(st *unix.Statx_t) Entry {
	e := Entry{
		Type:    typeOf(uint32(st.Mode)),
		Mode:    uint32(st.Mode) & 0o7777,
		UID:     st.Uid,
		GID:     st.Gid,
		Size:    int64(st.Size),
		MtimeNs: nanos(st.Mtime),
		CtimeNs: nanos(st.Ctime),
		Dev:     unix.Mkdev(st.Dev_major, st.Dev_minor),
		Ino:     st.Ino,
		Nlink:   uint64(st.Nlink),
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		e.BtimeNs = nanos(st.Btime)
	}
	if e.Type == Char || e.Type == Block {
		e.Rdev = unix.Mkdev(st.Rdev_major, st.Rdev_minor)
	}
	return e
}

func nanos(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

func typeOf(mode uint32) Type {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Dir
	case unix.S_IFLNK:
		return Symlink
	case unix.S_IFIFO:
		return Fifo
	case unix.S_IFSOCK:
		return Socket
	case unix.S_IFCHR:
		return Char
	case unix.S_IFBLK:
		return Block
	default:
		return None
	}
}

func readlinkat(dirfd int, name string, hint int64) (string, error) {
	// Some file systems say size 0 for links, so the size is only a hint.
	size := max(int(min(hint, 4095)), 63) + 1
	for {
		buf := make([]byte, size)
		n, err := unix.Readlinkat(dirfd, name, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", err
		}
		if n < size {
			return string(buf[:n]), nil
		}
		size *= 2
	}
}

// checkName refuses what is not one component. A NUL is left to the system
// call, which says EINVAL too.
func checkName(op, name string) error {
	if name == "" || name == "." || name == ".." || strings.IndexByte(name, '/') >= 0 {
		return &fault.Error{
			Code: fault.Internal, Op: op, Path: name,
			Reason: "not the name of one entry", Err: unix.EINVAL,
		}
	}
	return nil
}
