package repo

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// sides reads the host and the sandbox's view of it, as far as the rows of a
// scan tell. No symlink is followed.
type sides struct {
	tree          changes.Tree
	rows          []changes.Change // in order of Path
	root, storage int
}

func openSides(tree changes.Tree, rows []changes.Change) (*sides, error) {
	root, err := entry.OpenRoot()
	if err != nil {
		return nil, err
	}
	storage, err := unix.Open(tree.Storage, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		unix.Close(root)
		return nil, fault.Wrap(fault.Damaged, "open", tree.Storage, err)
	}
	return &sides{tree: tree, rows: rows, root: root, storage: storage}, nil
}

func (s *sides) close() {
	unix.Close(s.root)
	unix.Close(s.storage)
}

// hostEntry describes a path of the host; what cannot be looked at is not there.
func (s *sides) hostEntry(path string) entry.Entry {
	dirfd, name, err := entry.OpenParent(s.root, path)
	if err != nil {
		return entry.Entry{Type: entry.None}
	}
	defer unix.Close(dirfd)
	e, err := entry.At(dirfd, name)
	if err != nil {
		return entry.Entry{Type: entry.None}
	}
	return e
}

func (s *sides) readHost(path string, limit int64) ([]byte, bool) {
	dirfd, name, err := entry.OpenParent(s.root, path)
	if err != nil {
		return nil, false
	}
	defer unix.Close(dirfd)
	data, _, err := entry.ReadFile(dirfd, name, limit)
	return data, err == nil
}

// upperDir opens the directory of a path in the storage.
func (s *sides) upperDir(path string) (dirfd int, name string, err error) {
	rel, ok := strings.CutPrefix(path, strings.TrimSuffix(s.tree.Storage, "/")+"/")
	if !ok {
		return -1, "", fault.New(fault.Internal, "open", path, "it is not in the sandbox's storage", "")
	}
	dir, name := entry.Split(rel)
	dirfd, err = entry.OpenBeneath(s.storage, dir, unix.O_PATH|unix.O_DIRECTORY)
	return dirfd, name, err
}

func (s *sides) upperEntry(path string) entry.Entry {
	dirfd, name, err := s.upperDir(path)
	if err != nil {
		return entry.Entry{Type: entry.None}
	}
	defer unix.Close(dirfd)
	e, err := entry.At(dirfd, name)
	if err != nil {
		return entry.Entry{Type: entry.None}
	}
	return e
}

func (s *sides) row(path string) (*changes.Change, bool) {
	i, ok := slices.BinarySearchFunc(s.rows, path, func(c changes.Change, p string) int { return strings.Compare(c.Path, p) })
	if !ok {
		return nil, false
	}
	return &s.rows[i], true
}

// through reports whether the sandbox sees the host's version of a path that
// has no row: not below anything that is new, gone, or moved.
func (s *sides) through(path string) bool {
	for dir, _ := entry.Split(path); dir != "/" && dir != ""; dir, _ = entry.Split(dir) {
		if c, ok := s.row(dir); ok && c.Kind != changes.Attributes && c.Kind != changes.Modified {
			return false
		}
	}
	return true
}

// boxEntry describes a path as the sandbox sees it.
func (s *sides) boxEntry(path string) entry.Entry {
	if c, ok := s.row(path); ok {
		if c.Kind == changes.Deleted {
			return entry.Entry{Type: entry.None}
		}
		return c.Sandbox
	}
	if !s.through(path) {
		return entry.Entry{Type: entry.None}
	}
	return s.hostEntry(path)
}

func (s *sides) readBox(path string, limit int64) ([]byte, bool) {
	c, ok := s.row(path)
	switch {
	case !ok && s.through(path):
		return s.readHost(path, limit)
	case !ok || c.Kind == changes.Deleted:
		return nil, false
	case c.Upper == "":
		return s.readHost(path, limit)
	}
	dirfd, name, err := s.upperDir(c.Upper)
	if err != nil {
		return nil, false
	}
	defer unix.Close(dirfd)
	data, _, err := entry.ReadFile(dirfd, name, limit)
	return data, err == nil
}

// A hostView and a boxView are the two versions of one git directory.
type (
	hostView struct {
		*sides
		dir string
	}
	boxView struct {
		*sides
		dir string
	}
)

// Read is gitdir.View.
func (v hostView) Read(rel string, limit int64) ([]byte, bool) {
	return v.readHost(v.dir+"/"+rel, limit)
}

// Read is gitdir.View.
func (v boxView) Read(rel string, limit int64) ([]byte, bool) { return v.readBox(v.dir+"/"+rel, limit) }

// isRepository reports whether look finds a git directory at dir: git itself
// asks for these three.
func isRepository(dir string, look func(string) entry.Entry) bool {
	head := look(dir + "/HEAD").Type
	return (head == entry.File || head == entry.Symlink) &&
		look(dir+"/objects").Type == entry.Dir && look(dir+"/refs").Type == entry.Dir
}
