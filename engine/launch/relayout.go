package launch

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/mountplan"
	"sandbox/engine/overlay"
	"sandbox/engine/store"
)

// relayout follows a change of the host's mounts in mode U. A directory that
// was one overlay is part of the skeleton once something is mounted below it,
// and back: the sandbox's changes to it move between upper/ and upper-skel/,
// which both mirror host paths.
//
// A directory that the sandbox removed or replaced is no place of its own any
// more: that change belongs to the directory above it, and the plan loses it.
func (s *starting) relayout(p *mountplan.Plan) error {
	roots := map[string]bool{}
	s.modes = map[string]uint32{}
	for _, it := range p.Items {
		roots[it.Path] = it.Kind == mountplan.Overlay || it.Kind == mountplan.SkelDir
		if roots[it.Path] {
			s.modes[it.Path] = it.Mode
		}
	}
	kept, gone := p.Items[:0], ""
	for _, it := range p.Items { // a directory comes before what lies in it
		if gone != "" && mountplan.Below(it.Path, gone) {
			continue
		}
		if it.Path != "/" && roots[it.Path] {
			if s.replaced(s.base, store.UpperSkel+it.Path) {
				gone = it.Path
				continue
			}
			from, to := store.UpperSkel, store.Upper
			if it.Kind == mountplan.SkelDir {
				from, to = to, from
			}
			if err := s.moveEntries(from, to, it.Path, roots); err != nil {
				return err
			}
		}
		kept = append(kept, it)
	}
	p.Items = kept
	return nil
}

// replaced reports whether what lies at a path of an upper layer stands for
// something else than the host's directory: a whiteout, a file, a symlink, or
// a directory that hides the host's.
func (s *starting) replaced(dirfd int, name string) bool {
	fd, err := entry.OpenBeneath(dirfd, name, unix.O_PATH)
	if err != nil {
		return errors.Is(err, unix.ELOOP)
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return true
	}
	var buf [4]byte
	n, err := unix.Getxattr(fdPath(fd), overlay.UserXattr+"opaque", buf[:])
	return err == nil && n == 1 && buf[0] == 'y'
}

// moveEntries moves what lies directly in a directory of one upper into the
// same directory of the other. Directories that have a place of their own in
// the plan stay: they are handled by themselves. No symlink is followed: what
// lies in an upper was put there by programs in the sandbox.
func (s *starting) moveEntries(from, to, dir string, roots map[string]bool) error {
	src, err := entry.OpenBeneath(s.base, from+dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil // nothing there, or no directory: nothing to move
	}
	defer func() { _ = unix.Close(src) }()
	ents, err := entry.ReadDir(src)
	if err != nil {
		return fault.Wrap(fault.Failed, "look at", s.dir.Path(from+dir), err)
	}
	for _, e := range ents {
		path := dir + "/" + e.Name
		if (roots[path] || ancestorOf(path, roots)) && (to != store.UpperSkel || !s.replaced(src, e.Name)) {
			continue
		}
		if err := s.moveEntry(src, e.Name, from, to, dir); err != nil {
			return err
		}
	}
	return nil
}

func (s *starting) moveEntry(src int, name, from, to, dir string) error {
	if err := movable(src, from+dir); err != nil {
		return err
	}
	dst, err := s.makeDirs(to, dir)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dst) }()
	err = rename(src, dst, name)
	if errors.Is(err, unix.EEXIST) && s.mergeable(src, name) && s.mergeable(dst, name) {
		if err := s.moveEntries(from, to, dir+"/"+name, nil); err != nil {
			return err
		}
		defer unlock(src)()
		err = unix.Unlinkat(src, name, unix.AT_REMOVEDIR)
	}
	if err != nil {
		return &fault.Error{
			Code: fault.Failed, Op: "follow a change of the host's mounts for", Path: dir + "/" + name, Err: err,
			Hint: "The sandbox's change stays where it is. Unmount what was mounted below " + dir + ", or accept and reject first.",
		}
	}
	return nil
}

// mergeable reports whether name is a directory that only adds to the host's.
func (s *starting) mergeable(dirfd int, name string) bool {
	fd, err := entry.OpenBeneath(dirfd, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false
	}
	_ = unix.Close(fd)
	return !s.replaced(dirfd, name)
}

// makeDirs makes and opens a directory of an upper layer. The modes are those
// of the view, where the user may not write to most of them.
func (s *starting) makeDirs(upper, dir string) (int, error) {
	fd, err := entry.OpenBeneath(s.base, upper, unix.O_PATH|unix.O_DIRECTORY)
	if errors.Is(err, unix.ENOENT) {
		if err = store.MakeDirs(s.base, upper, 0o755); err == nil {
			fd, err = entry.OpenBeneath(s.base, upper, unix.O_PATH|unix.O_DIRECTORY)
		}
	}
	path := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(dir, "/"), "/") {
		if err != nil {
			return -1, err
		}
		path += "/" + part
		mode, ok := s.modes[path]
		if !ok {
			mode = 0o755
		}
		var next int
		next, err = makeDir(fd, part, mode)
		_ = unix.Close(fd)
		fd = next
		err = fault.Wrap(fault.Failed, "make directory", s.dir.Path(upper+path), err)
	}
	return fd, err
}

func makeDir(parent int, name string, mode uint32) (int, error) {
	lock := unlock(parent)
	err := unix.Mkdirat(parent, name, 0o700)
	if err == nil { // whatever the caller's umask is
		err = unix.Fchmodat(parent, name, mode, 0)
	}
	lock()
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	return entry.OpenBeneath(parent, name, unix.O_PATH|unix.O_DIRECTORY)
}

// rename moves name, also out of and into directories that are closed for
// writing; a directory that moves must be open for it, too.
func rename(src, dst int, name string) error {
	defer unlock(src)()
	defer unlock(dst)()
	if moved, err := entry.OpenBeneath(src, name, unix.O_PATH|unix.O_DIRECTORY); err == nil {
		defer func() { _ = unix.Close(moved) }()
		defer unlock(moved)()
	}
	return unix.Renameat2(src, name, dst, name, unix.RENAME_NOREPLACE)
}

// unlock lets the owner write to an open directory until the function that it
// returns is called.
func unlock(dir int) func() {
	var st unix.Stat_t
	if unix.Fstat(dir, &st) != nil || st.Mode&0o300 == 0o300 {
		return func() {}
	}
	_ = unix.Chmod(fdPath(dir), st.Mode&0o7777|0o700)
	return func() { _ = unix.Chmod(fdPath(dir), st.Mode&0o7777) }
}

// fdPath is for calls that take no O_PATH descriptor.
func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func ancestorOf(path string, roots map[string]bool) bool {
	for r := range roots {
		if mountplan.Below(r, path) {
			return true
		}
	}
	return false
}

// movable refuses a directory that replaced the host's: its mark cannot be
// carried over to a skeleton directory.
func movable(src int, name string) error {
	var buf [4]byte
	n, err := unix.Fgetxattr(src, overlay.UserXattr+"opaque", buf[:])
	if err != nil || n == 0 {
		return nil //nolint:nilerr // no such mark
	}
	return fault.New(fault.Failed, "follow a change of the host's mounts for", name,
		"the sandbox replaced this directory, and now something is mounted below it on the host",
		"Unmount it, or accept or reject the change first.")
}
