package renames

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// openDir opens a directory for reading. It crosses no mount and follows no link.
func openDir(dir int, name string) (int, error) { return open(dir, name, unix.O_RDONLY) }

// holdDir opens a directory to work in it; reading it may be forbidden.
func holdDir(dir int, name string) (int, error) { return open(dir, name, unix.O_PATH) }

func open(dir int, name string, flags uint64) (int, error) {
	return unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   flags | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
}

// readNames lists an open directory from its start.
func readNames(fd int) ([]string, error) {
	if _, err := unix.Seek(fd, 0, 0); err != nil {
		return nil, err
	}
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(fd, buf)
		if err != nil || n == 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func isDir(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }

func lstat(dir int, name string) (st unix.Stat_t, err error) {
	err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st, err
}

// fileID is what a name stands for.
type fileID struct{ dev, ino uint64 }

func idOf(st *unix.Stat_t) fileID { return fileID{st.Dev, st.Ino} }

// bornAt is when a file was made, in nanoseconds; 0 when it is not known. An
// overlay shows the one of the file in the upper, and it stays.
func bornAt(p place) int64 {
	var st unix.Statx_t
	err := unix.Statx(p.dir, p.name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	if err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// removeTree removes a tree that this package built. Its directories have their
// final modes already, so one may forbid to remove what is in it.
func removeTree(at place) error {
	fd, err := openWritable(at)
	if err == unix.ENOTDIR || err == unix.ENOENT {
		return ignoreMissing(unix.Unlinkat(at.dir, at.name, 0))
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	names, err := readNames(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := unix.Unlinkat(fd, name, 0)
		if err == unix.EISDIR {
			err = removeTree(place{fd, name})
		}
		if ignoreMissing(err) != nil {
			return err
		}
	}
	return ignoreMissing(unix.Unlinkat(at.dir, at.name, unix.AT_REMOVEDIR))
}

// openWritable opens a directory for reading after giving its owner all rights.
func openWritable(at place) (int, error) {
	held, err := holdDir(at.dir, at.name)
	if err != nil {
		return -1, err
	}
	defer unix.Close(held)
	var st unix.Stat_t
	if err := unix.Fstat(held, &st); err != nil {
		return -1, err
	}
	if st.Mode&0o700 != 0o700 {
		if err := chmodHeld(held, st.Mode&0o7777|0o700); err != nil {
			return -1, err
		}
	}
	return openDir(at.dir, at.name)
}

// chmodHeld changes the mode of what an O_PATH descriptor stands for.
func chmodHeld(fd int, mode uint32) error {
	return unix.Fchmodat(unix.AT_FDCWD, fdPath(fd), mode, 0)
}

func fdPath(fd int) string {
	return "/proc/thread-self/fd/" + strconv.Itoa(fd)
}

func ignoreMissing(err error) error {
	if err == unix.ENOENT {
		return nil
	}
	return err
}
