package rootfs

import (
	"errors"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// CopyTo makes a copy of the entry, a directory with all that is in it, at a
// place where nothing is. On an error nothing is left there.
func (a At) CopyTo(to At) (err error) {
	e, err := a.Stat()
	if err != nil {
		return err
	}
	m, err := a.Meta()
	if err != nil {
		return err
	}
	if e.Type == entry.File {
		f, err := a.OpenFile()
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		_, err = to.Fill(f, m)
		return err
	}
	if err := to.make(e); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = to.RemoveAll()
		}
	}()
	if e.Type == entry.Dir {
		if err := a.copyChildren(to); err != nil {
			return err
		}
	}
	return to.SetMeta(m)
}

func (a At) copyChildren(to At) error {
	names, err := a.Names()
	if err != nil {
		return err
	}
	from, err := a.Enter()
	if err != nil {
		return err
	}
	defer from.Close()
	into, err := to.Enter()
	if err != nil {
		return err
	}
	defer into.Close()
	for _, name := range names {
		if err := from.Sibling(name).CopyTo(into.Sibling(name)); err != nil {
			return err
		}
	}
	return nil
}

// make makes an empty entry of the type of e.
func (a At) make(e entry.Entry) error {
	switch e.Type {
	case entry.Dir:
		return a.Mkdir()
	case entry.Symlink:
		return a.Symlink(e.Target)
	case entry.Fifo, entry.Socket:
		return a.MakeNode(e.Type)
	case entry.Char, entry.Block:
		return a.Mknod(e.Type, e.Rdev)
	default:
		return a.wrap("copy", unix.ENOENT)
	}
}

// Transfer moves the entry to a place where nothing is (EEXIST), on the same
// file system (EXDEV). A directory that its owner may not write moves too.
func (a At) Transfer(to At) error {
	err := a.MoveTo(to)
	if errors.Is(err, unix.EACCES) {
		return a.moveReadOnlyDir(to, err)
	}
	return err
}

// moveReadOnlyDir opens a directory for its owner while it moves: a new parent
// means a new "..", which is a write to the directory itself.
func (a At) moveReadOnlyDir(to At, refused error) error {
	e, err := a.Stat()
	if err != nil || e.Type != entry.Dir || e.Mode&0o200 != 0 || a.Chmod(e.Mode|0o700) != nil {
		return refused
	}
	if err := a.MoveTo(to); err != nil {
		_ = a.Chmod(e.Mode)
		return err
	}
	return to.Chmod(e.Mode)
}
