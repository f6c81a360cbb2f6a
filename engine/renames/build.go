package renames

import (
	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// node is an entry of a built tree.
type node struct {
	src  fileID           // what the name stood for when it was linked
	dst  fileID           // what it stands for in the new tree
	born int64            // of dst
	kids map[string]*node // of a directory
}

// builder links a tree at another place.
type builder struct {
	root  place // where the new tree is
	tree  tally
	links map[fileID]linked
}

// linked is a file with more than one name: its first one in the new tree.
type linked struct {
	path string // below the root's directory
	id   fileID
	born int64
}

// dir builds the directory from at to, and what is in it.
func (b *builder) dir(from, to place) (*node, error) {
	return b.below(from, to, to.name, 0)
}

func (b *builder) below(from, to place, path string, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, unix.E2BIG
	}
	src, err := openDir(from.dir, from.name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(src)
	var st unix.Stat_t
	if err := unix.Fstat(src, &st); err != nil {
		return nil, err
	}
	if errno := b.tree.add(&st); errno != 0 {
		return nil, errno
	}
	if err := unix.Mkdirat(to.dir, to.name, 0o700); err != nil {
		return nil, err
	}
	dst, err := openDir(to.dir, to.name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dst)
	names, err := readNames(src)
	if err != nil {
		return nil, err
	}
	n := &node{kids: make(map[string]*node, len(names))}
	for _, name := range names {
		kid, err := b.entry(place{src, name}, place{dst, name}, path+"/"+name, depth)
		if err == unix.ENOENT {
			continue // it went away meanwhile
		}
		if err != nil {
			return nil, err
		}
		n.kids[name] = kid
	}
	return n, copyMeta(src, dst, &st)
}

func (b *builder) entry(from, to place, path string, depth int) (*node, error) {
	st, err := lstat(from.dir, from.name)
	if err != nil {
		return nil, err
	}
	if isDir(&st) {
		return b.below(from, to, path, depth+1)
	}
	if errno := b.tree.add(&st); errno != 0 {
		return nil, errno
	}
	before := idOf(&st)
	if first, ok := b.links[before]; ok && st.Nlink > 1 {
		// A link of a lower file is a copy of its own; that of its copy is not.
		if err := unix.Linkat(b.root.dir, first.path, to.dir, to.name, 0); err != nil {
			return nil, err
		}
		return &node{src: before, dst: first.id, born: first.born}, nil
	}
	n, err := link(from, to)
	if err == nil && st.Nlink > 1 {
		if b.links == nil {
			b.links = map[fileID]linked{}
		}
		b.links[before] = linked{path, n.dst, n.born}
	}
	return n, err
}

// link gives a file a second name, for which the overlay copies it up, and
// tells what both names stand for from then on. The file is held open, so that
// the answer is about the one that was linked and not about one that took its
// name meanwhile.
func link(from, to place) (*node, error) {
	fd, err := unix.Openat(from.dir, from.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Linkat(unix.AT_FDCWD, fdPath(fd), to.dir, to.name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return nil, err
	}
	var src unix.Stat_t
	if err := unix.Fstat(fd, &src); err != nil {
		return nil, err
	}
	dst, err := lstat(to.dir, to.name)
	return &node{src: idOf(&src), dst: idOf(&dst), born: bornAt(to)}, err
}

// copyMeta gives a directory the owner, attributes, mode and times of another.
func copyMeta(src, dst int, st *unix.Stat_t) error {
	var now unix.Stat_t
	if err := unix.Fstat(dst, &now); err != nil {
		return err
	}
	if now.Uid != st.Uid || now.Gid != st.Gid {
		if err := unix.Fchown(dst, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if err := copyXattrs(src, dst); err != nil {
		return err
	}
	if err := unix.Fchmod(dst, st.Mode&0o7777); err != nil {
		return err
	}
	if err := unix.Fstat(dst, &now); err != nil {
		return err
	}
	if now.Mode != st.Mode { // setgid of a group that is not ours
		return unix.EPERM
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	return unix.UtimesNanoAt(unix.AT_FDCWD, fdPath(dst), times, 0)
}

// copyXattrs makes the extended attributes alike, the access lists among them:
// a new directory inherits one.
func copyXattrs(src, dst int) error {
	want, err := entry.XattrsFd(src)
	if err != nil {
		return err
	}
	have, err := entry.XattrsFd(dst)
	if err != nil {
		return err
	}
	for key := range have {
		if _, ok := want[key]; !ok {
			if err := unix.Fremovexattr(dst, key); err != nil {
				return err
			}
		}
	}
	for key, value := range want {
		if had, ok := have[key]; ok && string(had) == string(value) {
			continue
		}
		if err := unix.Fsetxattr(dst, key, value, 0); err != nil {
			return err
		}
	}
	return nil
}
