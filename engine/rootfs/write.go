package rootfs

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/view"
)

// TempPrefix starts every name that stands for a moment beside what is written.
const TempPrefix = ".sandbox-tmp-"

// IsTemp says whether a name (or the last part of a path) is a temporary of ours.
func IsTemp(path string) bool {
	return strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], TempPrefix)
}

// TempName is a fresh name for a temporary.
func TempName() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return TempPrefix + hex.EncodeToString(b[:])
}

// CreateFile makes a regular file that was not there, open for reading and writing.
func (a At) CreateFile() (*os.File, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(a.Dir, a.Name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return nil, a.wrap("create", err)
	}
	return os.NewFile(uintptr(fd), a.Path), nil
}

// Fill makes a regular file with the content of src and the metadata, and
// returns the print of what was written. On an error nothing is left.
func (a At) Fill(src *os.File, m view.Meta) (print entry.Print, err error) {
	f, err := a.CreateFile()
	if err != nil {
		return "", err
	}
	defer func() {
		_ = f.Close()
		if err != nil {
			_ = a.Unlink()
		}
	}()
	if err := CopyContent(f, src); err != nil {
		return "", &os.PathError{Op: "write", Path: a.Path, Err: err}
	}
	if print, err = entry.PrintFd(int(f.Fd())); err != nil {
		return "", err
	}
	return print, a.SetMeta(m)
}

// Mkdir makes a directory that only its owner can enter.
func (a At) Mkdir() error { return a.wrap("mkdir", unix.Mkdirat(a.Dir, a.Name, 0o700)) }

// Symlink makes a symlink.
func (a At) Symlink(target string) error {
	return a.wrap("symlink", unix.Symlinkat(target, a.Dir, a.Name))
}

// Mknod makes a device node of the type Char or Block.
func (a At) Mknod(t entry.Type, rdev uint64) error {
	mode := uint32(unix.S_IFCHR)
	if t == entry.Block {
		mode = unix.S_IFBLK
	}
	return a.wrap("mknod", unix.Mknodat(a.Dir, a.Name, mode|0o600, int(rdev)))
}

// MakeNode makes a FIFO, or a socket that nobody listens on.
func (a At) MakeNode(t entry.Type) error {
	mode := map[entry.Type]uint32{entry.Fifo: unix.S_IFIFO, entry.Socket: unix.S_IFSOCK}[t]
	if mode == 0 {
		return a.wrap("make a "+string(t), unix.EINVAL)
	}
	return a.wrap("make a "+string(t), unix.Mknodat(a.Dir, a.Name, mode|0o600, 0))
}

// Unlink removes what is not a directory.
func (a At) Unlink() error { return a.wrap("unlink", unix.Unlinkat(a.Dir, a.Name, 0)) }

// Rmdir removes an empty directory.
func (a At) Rmdir() error {
	return a.wrap("rmdir", unix.Unlinkat(a.Dir, a.Name, unix.AT_REMOVEDIR))
}

// MoveTo renames the entry to a place where nothing may be.
func (a At) MoveTo(to At) error {
	return a.wrap("rename", again(func() error {
		return unix.Renameat2(a.Dir, a.Name, to.Dir, to.Name, unix.RENAME_NOREPLACE)
	}))
}

// Exchange swaps two entries in one step.
func (a At) Exchange(with At) error {
	return a.wrap("exchange", again(func() error {
		return unix.Renameat2(a.Dir, a.Name, with.Dir, with.Name, unix.RENAME_EXCHANGE)
	}))
}

// Stale is the error for a decision that was made on other content.
func Stale(path string) error {
	return fault.New(fault.Stale, "write", path, "it changed since it was looked at",
		"Look at the differences again and decide anew.")
}

// Install puts tmp, an entry in the same directory, at a. What was there must
// have the print expect ("" for anything) and is under tmp's name afterwards,
// which old says. On an error a is as it was, and tmp is still the new entry.
//
// The check comes after the swap, on what really came out, so that no write of
// somebody else gets lost between a look and a rename.
func (a At) Install(tmp At, expect entry.Print) (old bool, err error) {
	for {
		now, err := a.Stat()
		if err != nil {
			return false, err
		}
		if now.Type == entry.None {
			if expect != "" && expect != entry.PrintNone {
				return false, Stale(a.Path)
			}
			err := tmp.MoveTo(a)
			if errors.Is(err, unix.EEXIST) && expect == "" {
				continue
			}
			if errors.Is(err, unix.EEXIST) {
				return false, Stale(a.Path)
			}
			return false, err
		}
		if expect == entry.PrintNone {
			return false, Stale(a.Path)
		}
		err = a.Exchange(tmp)
		if errors.Is(err, unix.ENOENT) {
			continue // it went away since the look
		}
		if err != nil {
			return false, err
		}
		if expect == "" {
			return true, nil
		}
		print, err := tmp.Print()
		if err == nil && print == expect {
			return true, nil
		}
		if back := a.Exchange(tmp); back != nil {
			return true, errors.Join(Stale(a.Path), err, back)
		}
		if err != nil {
			return false, err
		}
		return false, Stale(a.Path)
	}
}

// Detach renames the entry to tmp, a free name in the same directory, when
// what comes out has the print expect ("" for anything); else it goes back.
func (a At) Detach(tmp At, expect entry.Print) error {
	err := a.MoveTo(tmp)
	if errors.Is(err, unix.ENOENT) && expect != "" {
		return Stale(a.Path)
	}
	if err != nil || expect == "" {
		return err
	}
	print, err := tmp.Print()
	if err == nil && print == expect {
		return nil
	}
	if back := tmp.MoveTo(a); back != nil {
		return errors.Join(Stale(a.Path), err, back)
	}
	if err != nil {
		return err
	}
	return Stale(a.Path)
}
