package launch

import (
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
func (s *starting) relayout(p *mountplan.Plan) error {
	roots := map[string]bool{}
	for _, it := range p.Items {
		roots[it.Path] = it.Kind == mountplan.Overlay || it.Kind == mountplan.SkelDir
	}
	for _, it := range p.Items {
		from, to := store.UpperSkel, store.Upper
		switch it.Kind {
		case mountplan.Overlay:
		case mountplan.SkelDir:
			from, to = to, from
		default:
			continue
		}
		if it.Path == "/" {
			continue
		}
		if err := s.moveEntries(from, to, it.Path, roots); err != nil {
			return err
		}
	}
	return nil
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
		if roots[path] || ancestorOf(path, roots) {
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
	if err := store.MakeDirs(s.base, to+dir, 0o755); err != nil {
		return err
	}
	dst, err := entry.OpenBeneath(s.base, to+dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dst) }()
	if err := unix.Renameat2(src, name, dst, name, unix.RENAME_NOREPLACE); err != nil {
		return &fault.Error{
			Code: fault.Failed, Op: "follow a change of the host's mounts for", Path: dir + "/" + name, Err: err,
			Hint: "The sandbox's change stays where it is. Unmount what was mounted below " + dir + ", or accept and reject first.",
		}
	}
	return nil
}

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
