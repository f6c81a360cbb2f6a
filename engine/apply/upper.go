package apply

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// upper reads, and marks, the upper directories of a sandbox.
type upper struct {
	tree changes.Tree
	root *rootfs.Root // the sandbox's storage
}

func openUpper(tree changes.Tree) (*upper, error) {
	root, err := rootfs.Open(tree.Storage)
	if err != nil {
		return nil, fault.Wrap(fault.Damaged, "open the sandbox's storage", tree.Storage, err)
	}
	return &upper{tree: tree, root: root}, nil
}

// sight says where the sandbox gets what it sees at a path.
type sight int

const (
	through sight = iota // from the host: the upper has nothing
	present              // from the upper
	gone                 // nothing: deleted, or hidden by an opaque directory
)

// rel is the path below the storage that stands for a path in the sandbox.
func (u *upper) rel(path string) (string, bool) {
	full, ok := u.tree.UpperPath(path)
	if !ok {
		return "", false
	}
	return strings.TrimPrefix(full, strings.TrimSuffix(u.tree.Storage, "/")), true
}

// look finds what the upper says about a path in the sandbox.
func (u *upper) look(path string) (sight, entry.Entry, error) {
	none := entry.Entry{Type: entry.None}
	layer, ok := u.tree.LayerOf(path)
	rel, _ := u.rel(path)
	if !ok || path == layer.Host {
		return through, none, nil
	}
	hidden := false
	missing := func() (sight, entry.Entry, error) {
		if hidden {
			return gone, none, nil
		}
		return through, none, nil
	}
	at := rel[:len(layer.Upper)+1]
	rest := strings.Trim(rel[len(layer.Upper)+1:], "/")
	for {
		name, more, deeper := strings.Cut(rest, "/")
		at, rest = at+"/"+name, more
		place, err := u.root.At(at)
		if errors.Is(err, unix.ENOENT) {
			return missing()
		}
		if err != nil {
			return 0, none, err
		}
		e, err := place.Stat()
		opaque := false
		if err == nil && e.Type == entry.Dir {
			opaque = u.attr(place, "opaque") == "y"
		}
		place.Close()
		switch {
		case err != nil:
			return 0, none, err
		case !e.Exists():
			return missing()
		case e.Whiteout():
			return gone, none, nil
		case !deeper:
			return present, e, nil
		case e.Type != entry.Dir:
			return gone, none, nil
		}
		hidden = hidden || opaque
	}
}

// covers says whether a directory above path hides what the host has there.
func (u *upper) covers(path string) bool {
	for dir := parent(path); dir != "/"; dir = parent(dir) {
		at, err := u.at(dir)
		if err != nil {
			continue
		}
		opaque := u.attr(at, "opaque")
		at.Close()
		if opaque == "y" {
			return true
		}
	}
	return false
}

// renamed says whether a directory above path was renamed by the kernel.
func (u *upper) renamed(path string) bool {
	for dir := parent(path); dir != "/"; dir = parent(dir) {
		at, err := u.at(dir)
		if err != nil {
			continue
		}
		to := u.attr(at, "redirect")
		at.Close()
		if to != "" {
			return true
		}
	}
	return false
}

// at is the place of the upper entry of a path.
func (u *upper) at(path string) (rootfs.At, error) {
	rel, ok := u.rel(path)
	if !ok {
		return rootfs.At{}, fault.New(fault.Internal, "find", path, "it lies in no overlay of the sandbox", "")
	}
	return u.root.At(rel)
}

// attr reads one of overlayfs's own xattrs, "" when there is none.
func (u *upper) attr(at rootfs.At, name string) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Lgetxattr(fdPath(at), u.tree.Xattr+name, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

// setAttr sets one of overlayfs's own xattrs; "" removes it.
func (u *upper) setAttr(at rootfs.At, name, value string) error {
	return writable(at, func() error {
		var err error
		if value == "" {
			err = unix.Lremovexattr(fdPath(at), u.tree.Xattr+name)
			if errors.Is(err, unix.ENODATA) {
				return nil
			}
		} else {
			err = unix.Lsetxattr(fdPath(at), u.tree.Xattr+name, []byte(value), 0)
		}
		return fault.Wrap(fault.Failed, "mark in the sandbox's storage", at.Path, err)
	})
}

// accepted notes that what the host has now came from the sandbox.
func (u *upper) accepted(path string, hostCtime int64) error {
	return u.acceptedSince(path, hostCtime, hostCtime)
}

// acceptedSince is accepted for all that was written between two moments.
func (u *upper) acceptedSince(path string, from, to int64) error {
	at, err := u.at(path)
	if err != nil {
		return ignoreMissing(err)
	}
	defer at.Close()
	return ignoreMissing(writable(at, func() error {
		return changes.MarkAcceptedSpan(fdPath(at), u.tree.Xattr, from, to)
	}))
}

func ignoreMissing(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}

// fdPath names an entry for the calls that take no descriptor. The calls used
// do not follow the name, and the magic link is our own directory.
func fdPath(at rootfs.At) string {
	return "/proc/self/fd/" + strconv.Itoa(at.Dir) + "/" + at.Name
}

// writable does something that needs write permission on an entry, which its
// owner may give himself for that moment (xattrs of a user are such writes).
func writable(at rootfs.At, do func() error) error {
	err := do()
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	e, serr := at.Stat()
	if serr != nil || e.Type == entry.Symlink || at.Chmod(e.Mode|0o200) != nil {
		return err
	}
	err = do()
	_ = at.Chmod(e.Mode)
	return err
}

// names lists the upper directory of a path, whiteouts left out.
func (u *upper) names(path string) ([]string, error) {
	at, err := u.at(path)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer at.Close()
	all, err := at.Names()
	if err != nil {
		return nil, ignoreMissing(err)
	}
	in, err := at.Enter()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	kept := all[:0]
	for _, name := range all {
		e, err := in.Sibling(name).Stat()
		if err != nil {
			return nil, err
		}
		if e.Exists() && !e.Whiteout() {
			kept = append(kept, name)
		}
	}
	return kept, nil
}

// list gives every path that the upper has below a directory, with its type;
// whiteouts are left out.
func (u *upper) list(path string) (map[string]entry.Entry, error) {
	all := map[string]entry.Entry{}
	at, err := u.at(path)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	if err := listTree(at, path, all); err != nil {
		return nil, err
	}
	for p, e := range all {
		if e.Whiteout() {
			delete(all, p)
		}
	}
	return all, nil
}
