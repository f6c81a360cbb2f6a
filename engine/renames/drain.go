package renames

import "golang.org/x/sys/unix"

// maxTries bounds how often a directory is emptied into which another program
// writes without an end.
const maxTries = 20

// drainer empties the old tree after the new one has taken its place.
type drainer struct {
	// recovery is set when there are no nodes, because init was killed: then a
	// name is known to be moved when both places show the same.
	recovery bool
	// keep leaves what the new tree has not, instead of moving it.
	keep bool
}

// dir removes from the old directory what the new one has, and moves what came
// meanwhile.
func (d *drainer) dir(from, to place, n *node) error {
	src, err := openWritable(from)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	dst, err := holdDir(to.dir, to.name)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	for range maxTries {
		names, err := readNames(src)
		if err != nil {
			return err
		}
		var failed error
		for _, name := range names {
			if err := ignoreMissing(d.entry(place{src, name}, place{dst, name}, n.kid(name))); err != nil {
				failed = err
			}
		}
		err = unix.Unlinkat(from.dir, from.name, unix.AT_REMOVEDIR)
		if err != unix.ENOTEMPTY {
			return err
		}
		if failed != nil {
			return failed
		}
	}
	return unix.ENOTEMPTY
}

func (n *node) kid(name string) *node {
	if n == nil {
		return nil
	}
	return n.kids[name]
}

func (d *drainer) entry(from, to place, n *node) error {
	old, err := lstat(from.dir, from.name)
	if err != nil {
		return err
	}
	now, err := lstat(to.dir, to.name)
	there := err == nil
	switch {
	case isDir(&old) && there && isDir(&now):
		return d.dir(from, to, n)
	case n != nil && n.kids == nil && idOf(&old) == n.src:
		return unix.Unlinkat(from.dir, from.name, 0)
	case d.recovery && there && d.same(from, to, &old, &now):
		return unix.Unlinkat(from.dir, from.name, 0)
	case d.keep:
		return unix.ENOTEMPTY
	case n != nil && n.kids == nil && there && (idOf(&now) == n.dst || n.born != 0 && n.born == bornAt(to)):
		return replace(from, to, idOf(&old))
	}
	return unix.Renameat2(from.dir, from.name, to.dir, to.name, unix.RENAME_NOREPLACE)
}

// replace puts a file in the place of what was linked from its name: it was
// written anew there meanwhile. Or only the inode numbers that the overlay
// shows have changed, which they do when the kernel forgets the files: then
// both are one file, and to rename one name of a file to another does nothing.
func replace(from, to place, id fileID) error {
	if err := unix.Renameat(from.dir, from.name, to.dir, to.name); err != nil {
		return err
	}
	if left, err := lstat(from.dir, from.name); err == nil && idOf(&left) == id {
		return unix.Unlinkat(from.dir, from.name, 0)
	}
	return nil
}

// same reports whether both places show one file, or equal ones: hard links of
// the host are copied once for all their names.
func (d *drainer) same(from, to place, a, b *unix.Stat_t) bool {
	if idOf(a) == idOf(b) {
		return true
	}
	return a.Mode == b.Mode && a.Size == b.Size && a.Mtim == b.Mtim && a.Mode&unix.S_IFMT == unix.S_IFREG &&
		sameContent(from, to)
}
