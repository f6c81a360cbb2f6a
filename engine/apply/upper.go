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
	// known is what was found out about directories, nil while that is not kept.
	known map[string]inside
	moved map[string]bool // whether a directory, or one above it, was renamed by the kernel
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
	if !ok || path == layer.Host {
		return through, none, nil
	}
	dir, err := u.inside(parent(path), layer.Host)
	if err != nil || dir.where != present {
		return dir.where, none, err
	}
	at, err := u.at(path)
	if err != nil {
		return dir.missing(), none, ignoreMissing(err)
	}
	defer at.Close()
	e, err := at.Stat()
	switch {
	case err != nil:
		return 0, none, err
	case !e.Exists():
		return dir.missing(), none, nil
	case e.Whiteout():
		return gone, none, nil
	}
	return present, e, nil
}

// inside is what one directory of the sandbox's view says about all in it.
type inside struct {
	where  sight // present: the upper has the directory; else the answer for all
	hidden bool  // an opaque directory is above
}

// missing is the answer for a name that the directory has not.
func (in inside) missing() sight {
	if in.hidden {
		return gone
	}
	return through
}

// inside looks at a directory, and at those above it down from the layer's root.
func (u *upper) inside(dir, layer string) (inside, error) {
	if dir == layer || len(dir) < len(layer) {
		return inside{where: present}, nil
	}
	if in, known := u.known[dir]; known {
		return in, nil
	}
	above, err := u.inside(parent(dir), layer)
	if err != nil {
		return above, err
	}
	in, err := u.step(above, dir)
	if err == nil && u.known != nil {
		u.known[dir] = in
	}
	return in, err
}

func (u *upper) step(above inside, dir string) (inside, error) {
	if above.where != present {
		return above, nil
	}
	at, err := u.at(dir)
	if err != nil {
		return inside{where: above.missing()}, ignoreMissing(err)
	}
	defer at.Close()
	e, err := at.Stat()
	switch {
	case err != nil:
		return inside{}, err
	case !e.Exists():
		return inside{where: above.missing()}, nil
	case e.Type != entry.Dir: // a whiteout, or a file in its place
		return inside{where: gone}, nil
	}
	hidden := above.hidden || u.attr(at, "opaque") == "y"
	if hidden && u.attr(at, "redirect") != "" {
		hidden = false // it shows a directory of the host again
	}
	return inside{where: present, hidden: hidden}, nil
}

// hold keeps what is known of directories for the next look, while nobody of
// ours changes the upper.
func (u *upper) hold(on bool) {
	u.root.Hold(on)
	u.known, u.moved = nil, nil
	if on {
		u.known, u.moved = map[string]inside{}, map[string]bool{}
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
	if u.tree.Xattr == changes.UserXattr {
		return false // a user namespace has no redirects
	}
	return u.renamedDir(parent(path))
}

// renamedDir is renamed for a directory and those above it. While directories
// are held, the answers are too.
func (u *upper) renamedDir(dir string) bool {
	if dir == "/" {
		return false
	}
	if known, ok := u.moved[dir]; ok {
		return known
	}
	answer := false
	if at, err := u.at(dir); err == nil {
		answer = u.attr(at, "redirect") != ""
		at.Close()
	}
	answer = answer || u.renamedDir(parent(dir))
	if u.moved != nil {
		u.moved[dir] = answer
	}
	return answer
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
	var buf [unix.PathMax]byte
	n, err := unix.Lgetxattr(fdPath(at), u.tree.Xattr+name, buf[:])
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

// dirs lists what may be a directory in the upper directory of a path.
func (u *upper) dirs(path string) ([]string, error) {
	at, err := u.at(path)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer at.Close()
	fd, err := entry.OpenDirAt(at.Dir, at.Name)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer func() { _ = unix.Close(fd) }()
	list, err := entry.ReadDir(fd)
	var names []string
	for _, d := range list {
		if d.Type == entry.Dir || d.Type == "" {
			names = append(names, d.Name)
		}
	}
	return names, err
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
