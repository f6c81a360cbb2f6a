// Package dirview changes a merged view that is reached through a descriptor
// of its root directory. The sandbox's init runs it on "/"; it works on any
// mounted overlay.
//
// What is written goes through a temporary and a rename, so a program inside
// sees the old content or the new one. What was replaced is compared with the
// print that the decision was made on after it came out, and goes back when it
// is something else.
package dirview

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// Dir is a merged view below a directory.
type Dir struct {
	root *rootfs.Root
	// OnSync does Sync; nil does nothing.
	OnSync func(paths ...string) error
}

var _ view.View = (*Dir)(nil)

// New works below rootfd, which stays the caller's.
func New(rootfd int) *Dir { return &Dir{root: rootfs.FromFD(rootfd)} }

// Print returns the print of an entry. Where a part of the path is missing or
// is no directory (a symlink is none), nothing is there.
func (d *Dir) Print(path string) (entry.Print, error) {
	at, err := d.root.At(path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return entry.PrintNone, nil
	}
	if err != nil {
		return "", explain("look at", path, err)
	}
	defer at.Close()
	print, err := at.Print()
	return print, explain("look at", path, err)
}

// Write makes path a regular file with all that content holds.
func (d *Dir) Write(path string, content *os.File, meta view.Meta, expect entry.Print) error {
	return d.put("write", path, expect, func(tmp rootfs.At) error {
		_, err := tmp.Fill(content, meta)
		return err
	})
}

// Symlink makes path a symlink.
func (d *Dir) Symlink(path, target string, meta view.Meta, expect entry.Print) error {
	return d.put("make the symlink", path, expect, func(tmp rootfs.At) error {
		if err := tmp.Symlink(target); err != nil {
			return err
		}
		return tmp.SetMeta(meta)
	})
}

// Mknod makes path a FIFO or a socket.
func (d *Dir) Mknod(path string, t entry.Type, meta view.Meta, expect entry.Print) error {
	return d.put("make the "+string(t), path, expect, func(tmp rootfs.At) error {
		if err := tmp.MakeNode(t); err != nil {
			return err
		}
		return tmp.SetMeta(meta)
	})
}

// Mkdir makes path a directory; one that is there keeps what is in it.
func (d *Dir) Mkdir(path string, meta view.Meta, expect entry.Print) error {
	if expect == "" || expect == "dir" {
		at, err := d.root.At(path)
		if err != nil {
			return explain("make the directory", path, err)
		}
		defer at.Close()
		now, err := at.Stat()
		if err != nil {
			return explain("make the directory", path, err)
		}
		if now.Type == entry.Dir {
			return explain("make the directory", path, at.SetMeta(meta))
		}
	}
	return d.put("make the directory", path, expect, func(tmp rootfs.At) error {
		if err := tmp.Mkdir(); err != nil {
			return err
		}
		return tmp.SetMeta(meta)
	})
}

// put builds the new entry beside path and swaps it in.
func (d *Dir) put(op, path string, expect entry.Print, build func(tmp rootfs.At) error) error {
	at, err := d.root.At(path)
	if err != nil {
		return explain(op, path, err)
	}
	defer at.Close()
	// Looked at before anything is copied: the swap decides, this is cheaper.
	if expect != "" {
		if now, err := at.Print(); err != nil || now != expect {
			return explain(op, path, errors.Join(err, staleUnless(err == nil, path)))
		}
	}
	tmp := at.Sibling(rootfs.TempName())
	if err := build(tmp); err != nil {
		_ = tmp.RemoveAll()
		return explain(op, path, err)
	}
	old, err := at.Install(tmp, expect)
	if errors.Is(err, unix.EXDEV) {
		old, err = false, overLowerDir(at, tmp, expect)
	}
	if err != nil {
		if !old {
			_ = tmp.RemoveAll()
		}
		return explain(op, path, err)
	}
	if old {
		return explain(op, path, tmp.RemoveAll())
	}
	return nil
}

func staleUnless(moved bool, path string) error {
	if moved {
		return rootfs.Stale(path)
	}
	return nil
}

// overLowerDir replaces a directory that overlayfs cannot rename, because it
// exists in a lower layer and redirects are off (EXDEV): it is emptied in
// place instead.
func overLowerDir(at, tmp rootfs.At, expect entry.Print) error {
	now, err := at.Print()
	if err != nil {
		return err
	}
	if now != "dir" || (expect != "" && expect != now) {
		return rootfs.Stale(at.Path)
	}
	if err := at.RemoveAll(); err != nil {
		return err
	}
	return tmp.MoveTo(at)
}

// Remove removes an entry; a directory with all that is in it.
func (d *Dir) Remove(path string, expect entry.Print) error {
	const op = "remove"
	at, err := d.root.At(path)
	if err != nil {
		if expect == entry.PrintNone && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)) {
			return nil
		}
		return explain(op, path, err)
	}
	defer at.Close()
	if expect == view.EmptyDir {
		err := at.Rmdir()
		if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENOENT) {
			err = rootfs.Stale(path)
		}
		return explain(op, path, err)
	}
	now, err := at.Print()
	if err != nil {
		return explain(op, path, err)
	}
	if expect != "" && now != expect {
		return explain(op, path, rootfs.Stale(path))
	}
	if now == entry.PrintNone {
		return nil
	}
	tmp := at.Sibling(rootfs.TempName())
	switch err := at.Detach(tmp, expect); {
	case err == nil:
		return explain(op, path, tmp.RemoveAll())
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.EOVERFLOW):
		// A lower directory without redirects, or an owner that cannot be
		// copied up: neither can be renamed, both can be removed in place.
		return explain(op, path, at.RemoveAll())
	default:
		return explain(op, path, err)
	}
}

// Setattr changes mode, owner, mtime and xattrs of an entry.
func (d *Dir) Setattr(path string, meta view.Meta) error {
	at, err := d.root.At(path)
	if err != nil {
		return explain("set attributes", path, err)
	}
	defer at.Close()
	return explain("set attributes", path, at.SetMeta(meta))
}

// Sync makes host changes visible, as OnSync knows how.
func (d *Dir) Sync(paths ...string) error {
	if d.OnSync == nil {
		return nil
	}
	return d.OnSync(paths...)
}

// explain makes a fault of an error that is none.
func explain(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	f := &fault.Error{Code: fault.Failed, Op: op + " in the sandbox", Path: path, Err: err}
	if errors.Is(err, unix.ELOOP) {
		f.Reason = "a symbolic link stands in its directory part"
	}
	return f
}
