package entry

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// ErrNotRegular is the cause when a regular file was wanted and something else
// is there.
var ErrNotRegular = errors.New("not a regular file")

// OpenRoot opens "/" for use as the root of OpenDirNoLinks and OpenParent.
func OpenRoot() (int, error) {
	fd, err := retryOpenat(unix.AT_FDCWD, "/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return -1, fault.Wrap(fault.Failed, "open", "/", err)
	}
	return fd, nil
}

// OpenDirNoLinks opens the directory path, which is absolute or relative to
// root, as O_PATH from the held descriptor root. No symlink and no magic link
// is followed in any part of it (ELOOP), and ".." is refused (EINVAL). Mounts
// are crossed. Use it on the host side; OpenBeneath on the upper side.
//
// The result does for openat, statx, renameat2, mkdirat, unlinkat and the
// functions of this package; ReadDir, fsync and syncfs need Reopen.
func OpenDirNoLinks(root int, path string) (int, error) {
	return openWalk(root, path, unix.O_PATH|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
}

// OpenBeneath opens path below the directory root with the given flags
// (O_CLOEXEC is added). No symlink is followed in any part, the last included,
// and the walk cannot leave root. A leading slash is read as root itself.
func OpenBeneath(root int, path string, flags int) (int, error) {
	return openWalk(root, path, flags, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
}

// OpenParent opens the directory of path as OpenDirNoLinks does and gives the
// last component beside it. path must name something below the root.
func OpenParent(root int, path string) (dirfd int, name string, err error) {
	dir, name := Split(path)
	if err := checkName("open", name); err != nil {
		return -1, "", err
	}
	dirfd, err = OpenDirNoLinks(root, dir)
	return dirfd, name, err
}

// Split cuts a path before its last component: "/a/b" gives "/a" and "b",
// "/a" gives "/" and "a", "a" gives "" and "a".
func Split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	switch {
	case i < 0:
		return "", path
	case i == 0:
		return "/", path[1:]
	default:
		return path[:i], path[i+1:]
	}
}

// Reopen opens the directory that dirfd (perhaps O_PATH) stands for once more,
// for reading: for ReadDir, fsync, syncfs.
func Reopen(dirfd int) (int, error) {
	fd, err := retryOpenat(dirfd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return -1, fault.Wrap(fault.Failed, "open", "a directory", err)
	}
	return fd, nil
}

// OpenDirAt opens the directory name in dirfd for reading. A symlink is
// refused (ELOOP or ENOTDIR).
func OpenDirAt(dirfd int, name string) (int, error) {
	if err := checkName("open", name); err != nil {
		return -1, err
	}
	fd, err := retryOpenat(dirfd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return -1, fault.Wrap(fault.Failed, "open", name, err)
	}
	return fd, nil
}

// OpenFile opens the regular file name in dirfd for reading. Whatever else is
// there is refused with ErrNotRegular before it is opened: a FIFO, socket or
// device is looked at, never opened. O_NONBLOCK covers the race in which one
// takes the file's place in between.
func OpenFile(dirfd int, name string) (*os.File, Entry, error) {
	fd, e, err := openRegular(dirfd, name)
	if err != nil {
		return nil, Entry{}, err
	}
	return os.NewFile(uintptr(fd), name), e, nil
}

// ReadFile reads the regular file name in dirfd, at most limit bytes of it; a
// larger file is refused with EFBIG. A negative limit is none.
func ReadFile(dirfd int, name string, limit int64) ([]byte, Entry, error) {
	f, e, err := OpenFile(dirfd, name)
	if err != nil {
		return nil, Entry{}, err
	}
	defer f.Close()
	tooBig := &fault.Error{Code: fault.Failed, Op: "read", Path: name, Reason: "too large", Err: unix.EFBIG}
	if limit >= 0 && e.Size > limit {
		return nil, e, tooBig
	}
	var r io.Reader = f
	if limit >= 0 {
		r = io.LimitReader(f, limit+1) // it may grow while it is read
	}
	buf := make([]byte, 0, e.Size+1)
	for {
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, e, fault.Wrap(fault.Failed, "read", name, err)
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
	}
	if limit >= 0 && int64(len(buf)) > limit {
		return nil, e, tooBig
	}
	return buf, e, nil
}

func openRegular(dirfd int, name string) (int, Entry, error) {
	e, err := At(dirfd, name)
	if err != nil {
		return -1, Entry{}, err
	}
	if !e.Exists() {
		return -1, Entry{}, fault.Wrap(fault.Failed, "open", name, unix.ENOENT)
	}
	if e.Type != File {
		return -1, Entry{}, fault.Wrap(fault.Failed, "open", name, ErrNotRegular)
	}
	fd, err := retryOpenat(dirfd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC)
	if err != nil {
		return -1, Entry{}, fault.Wrap(fault.Failed, "open", name, err)
	}
	e, err = OfFd(fd)
	if err == nil && e.Type != File {
		err = fault.Wrap(fault.Failed, "open", name, ErrNotRegular)
	}
	if err == nil {
		// The flag would travel with the descriptor when it is passed on.
		err = fault.Wrap(fault.Failed, "open", name, unix.SetNonblock(fd, false))
	}
	if err != nil {
		unix.Close(fd)
		return -1, Entry{}, err
	}
	return fd, e, nil
}

// walkChunk keeps one openat2 path below PATH_MAX, so that trees deeper than
// 4096 bytes can be reached piece by piece.
const walkChunk = 3000

func openWalk(root int, path string, flags int, resolve uint64) (int, error) {
	rel := strings.Trim(path, "/")
	for part := range strings.SplitSeq(rel, "/") {
		if part == ".." {
			return -1, &fault.Error{Code: fault.Internal, Op: "open", Path: path, Reason: "a path with ..", Err: unix.EINVAL}
		}
	}
	at, closeAt := root, func() {}
	for len(rel) > walkChunk {
		cut := strings.LastIndexByte(rel[:walkChunk], '/')
		if cut <= 0 {
			return -1, walkError(path, unix.ENAMETOOLONG)
		}
		fd, err := retryOpenat2(at, rel[:cut], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, resolve)
		closeAt()
		if err != nil {
			return -1, walkError(path, err)
		}
		at, closeAt = fd, func() { unix.Close(fd) }
		rel = strings.TrimLeft(rel[cut:], "/")
	}
	if rel == "" {
		rel = "."
	}
	fd, err := retryOpenat2(at, rel, flags|unix.O_CLOEXEC, resolve)
	closeAt()
	if err != nil {
		return -1, walkError(path, err)
	}
	return fd, nil
}

func walkError(path string, err error) error {
	e := &fault.Error{Code: fault.Failed, Op: "open", Path: path, Err: err}
	if err == unix.ELOOP {
		e.Reason = "a part of the path is a symbolic link, which is not followed"
	}
	return e
}

func retryOpenat(dirfd int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dirfd, name, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func retryOpenat2(dirfd int, path string, flags int, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: resolve}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dirfd, path, &how)
		// EAGAIN: a rename raced with a walk that must stay beneath.
		if err == unix.EINTR || (err == unix.EAGAIN && try < 100) {
			continue
		}
		return fd, err
	}
}
