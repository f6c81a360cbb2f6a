package rootfs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/view"
)

// Built is a regular file that was made.
type Built struct {
	Print entry.Print
	Entry entry.Entry
	// Meta is what the file system made of the metadata that was asked for;
	// nil when it is just that.
	Meta *view.Meta
}

// Source is an open regular file whose content is wanted.
type Source struct {
	FD    int
	Entry entry.Entry // as it was when it was opened
}

// OpenSource opens a regular file for reading; anything else is an error.
func (a At) OpenSource() (Source, error) {
	e, err := a.Stat()
	if err != nil {
		return Source{}, err
	}
	if e.Type == entry.None {
		return Source{}, a.wrap("open", unix.ENOENT)
	}
	if e.Type != entry.File {
		return Source{}, a.wrap("open", entry.ErrNotRegular)
	}
	var fd int
	err = again(func() (err error) {
		// A FIFO may take the file's place right now: it must not be waited for.
		fd, err = unix.Openat(a.Dir, a.Name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return Source{}, a.wrap("open", err)
	}
	s := Source{FD: fd}
	if s.Entry, err = entry.OfFd(fd); err == nil && s.Entry.Type != entry.File {
		err = entry.ErrNotRegular
	}
	if err != nil {
		s.Close()
		return Source{}, a.wrap("open", err)
	}
	return s, nil
}

// Close closes the source.
func (s Source) Close() { _ = unix.Close(s.FD) }

// smallFile is up to which size a file is read once, for its copy and its
// print. A larger one is better cloned, or copied by the kernel.
const smallFile = 128 << 10

var copyBuffers = sync.Pool{New: func() any { b := make([]byte, smallFile+1); return &b }}

// Build is Fill for many files: it asks the kernel for nothing twice. What it
// began is left, under its temporary name, when it fails.
func (a At) Build(src Source, m view.Meta) (Built, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(a.Dir, a.Name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return Built{}, a.wrap("create", err)
	}
	defer func() { _ = unix.Close(fd) }()
	var b Built
	if b.Print, err = copyOnce(fd, src); err != nil {
		return b, a.wrap("write", err)
	}
	if b.Entry, err = entry.OfFd(fd); err != nil {
		return b, err
	}
	return b, a.dress(fd, &b, m)
}

// copyOnce copies a file up to where it ended when it was opened, and gives the
// print of what was written.
func copyOnce(dst int, src Source) (entry.Print, error) {
	if src.Entry.Size > smallFile || sparse(src) {
		to, err := unix.FcntlInt(uintptr(dst), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return "", err
		}
		from, err := unix.FcntlInt(uintptr(src.FD), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			_ = unix.Close(to)
			return "", err
		}
		out, in := os.NewFile(uintptr(to), "copy"), os.NewFile(uintptr(from), "original")
		err = CopyContent(out, in)
		_, _ = out.Close(), in.Close()
		if err != nil {
			return "", err
		}
		return entry.PrintFd(dst)
	}
	pool := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(pool)
	data := (*pool)[:0]
	for int64(len(data)) < src.Entry.Size {
		n, err := unix.Pread(src.FD, (*pool)[len(data):src.Entry.Size], int64(len(data)))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return "", err
		}
		if n == 0 {
			break // it is shorter by now
		}
		data = (*pool)[:len(data)+n]
	}
	sum := sha256.Sum256(data)
	for rest := data; len(rest) > 0; {
		n, err := unix.Write(dst, rest)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return "", err
		}
		rest = rest[n:]
	}
	return entry.Print("file:" + hex.EncodeToString(sum[:])), nil
}

// sparse says whether a file has holes.
func sparse(src Source) bool {
	if src.Entry.Size <= 4096 {
		return false
	}
	hole, err := unix.Seek(src.FD, 0, unix.SEEK_HOLE)
	return err == nil && hole < src.Entry.Size
}

// dress gives a file that was just made its metadata, as SetMeta does.
func (a At) dress(fd int, b *Built, m view.Meta) error {
	have, err := entry.XattrsFd(fd)
	if err != nil && !absent(err) {
		return err
	}
	plain := len(m.Xattrs) == 0
	for name := range have {
		plain = plain && !travels(name)
	}
	if !plain || b.Entry.UID != m.UID || b.Entry.GID != m.GID {
		if err := a.SetMeta(m); err != nil {
			return err
		}
		meta, err := a.Meta()
		if err != nil {
			return err
		}
		b.Meta = &meta
		return nil
	}
	mode := m.Mode & 0o7777
	if mode != b.Entry.Mode {
		if err := unix.Fchmod(fd, mode); err != nil {
			return a.wrap("chmod", err)
		}
	}
	if m.MtimeNs == 0 {
		return nil
	}
	return a.SetMtime(m.MtimeNs)
}
