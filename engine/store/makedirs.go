package store

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// MakeDirs makes a directory and its parents below base, an open directory,
// following no symlink: programs in the sandbox choose what lies in its upper
// layers. The last directory gets mode, the others 0755; one that is there
// stays as it is.
func MakeDirs(base int, rel string, mode uint32) error {
	fd := base
	parts := strings.Split(rel, "/")
	for i, p := range parts {
		m := uint32(0o755)
		if i == len(parts)-1 {
			m = mode
		}
		err := unix.Mkdirat(fd, p, m)
		next := -1
		if err == nil || errors.Is(err, fs.ErrExist) {
			next, err = unix.Openat(fd, p, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		}
		if fd != base {
			_ = unix.Close(fd)
		}
		if err != nil {
			return fault.Wrap(fault.Failed, "make directory", rel, err)
		}
		fd = next
	}
	if fd != base {
		_ = unix.Close(fd)
	}
	return nil
}
