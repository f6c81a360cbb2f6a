package store

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// RemoveTree removes a directory with all that is in it, also where the owner
// may not enter or write (mode 000 directories of overlayfs, read-only ones
// of a sandboxed program). It follows no symlink. What is missing is no error:
// a keeper may be clearing up at the same time.
func RemoveTree(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	_ = unix.Close(fd)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return os.Remove(path)
	}
	if err := empty(unix.AT_FDCWD, path); err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	if err := os.Remove(path); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// empty empties the directory name in dirfd.
func empty(dirfd int, name string) error {
	fd, err := enter(dirfd, name)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	for {
		ents, err := f.ReadDir(1024)
		for _, e := range ents {
			if err := removeAt(fd, e.Name(), e.IsDir()); err != nil {
				return err
			}
		}
		if err != nil || len(ents) == 0 {
			return nil // io.EOF; a real error shows when the directory is removed
		}
		if _, err := f.Seek(0, 0); err != nil {
			return err
		}
	}
}

func removeAt(fd int, name string, dir bool) error {
	flags := 0
	if dir {
		flags = unix.AT_REMOVEDIR
		if err := empty(fd, name); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	if err := unix.Unlinkat(fd, name, flags); !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// enter opens a directory and gives the owner the rights to empty it.
func enter(dirfd int, name string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(dirfd, name, flags, 0)
	if errors.Is(err, unix.EACCES) {
		// fchmodat follows a symlink in the last part, but only the owner of
		// the storage could put one here between these calls.
		if err := unix.Fchmodat(dirfd, name, 0o700, 0); err != nil {
			return -1, err
		}
		fd, err = unix.Openat(dirfd, name, flags, 0)
	}
	if err == nil {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&0o700 != 0o700 {
			err = unix.Fchmod(fd, 0o700)
		}
	}
	return fd, err
}
