package changes

import (
	"slices"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// moved is a directory that the kernel renamed: where the host has it, and
// where the sandbox has it.
type moved struct{ from, to string }

// settleRedirects corrects the old places of renamed directories: what was
// listed there as deleted has moved, and what stands there now is new.
func (s *scan) settleRedirects() error {
	if len(s.redirects) == 0 {
		return nil
	}
	var olds, again []string
	renamed := make(map[string]bool)
	for _, m := range s.redirects {
		olds = append(olds, m.from)
		renamed[m.to] = true
	}
	slices.Sort(olds)
	olds = slices.Compact(olds)
	for _, old := range olds {
		// A place that another renamed directory took (a swap) is listed as that.
		if !renamed[old] && s.upperHas(old) {
			again = append(again, old)
		}
	}
	moved := func(c Change) bool {
		if withinAny(c.Path, again) {
			return true // all of it comes again
		}
		if c.Kind != Deleted {
			return false
		}
		if c.From == "" {
			return withinAny(c.Path, olds)
		}
		// Below a renamed directory Path is not the host's; and what was moved
		// on from there is not deleted.
		return s.placeOf(c.From) != c.Path
	}
	for i := range s.parts {
		s.parts[i].rows = slices.DeleteFunc(s.parts[i].rows, moved)
	}
	for _, old := range again {
		s.rescanAsNew(old)
	}
	if err := s.run(); err != nil {
		return err
	}
	// What came again had no eye for what moved on from there.
	for i := range s.parts {
		s.parts[i].rows = slices.DeleteFunc(s.parts[i].rows, func(c Change) bool {
			return c.Kind == Deleted && c.From != "" && s.placeOf(c.From) != c.Path
		})
	}
	return nil
}

// placeOf is where the sandbox has, after all renames, what the host has at from.
func (s *scan) placeOf(from string) string {
	best, place := "", from
	for _, m := range s.redirects {
		if within(from, m.from) && len(m.from) > len(best) {
			best, place = m.from, m.to+from[len(m.from):]
		}
	}
	return place
}

func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return within(path, d) })
}

// upperHas reports whether something but a whiteout stands for path in the upper.
func (s *scan) upperHas(path string) bool {
	dirfd, name, err := s.openUpperParent(path)
	if err != nil {
		return false
	}
	defer unix.Close(dirfd)
	e, err := entry.At(dirfd, name)
	return err == nil && e.Exists() && !e.Whiteout()
}

// openUpperParent opens the upper directory that holds the entry of path.
func (s *scan) openUpperParent(path string) (dirfd int, name string, err error) {
	l, ok := s.tree.LayerOf(path)
	if !ok || path == l.Host {
		return -1, "", unix.ENOENT
	}
	storage, err := unix.Open(s.tree.Storage, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", err
	}
	defer unix.Close(storage)
	upperPath, _ := s.tree.UpperPath(path)
	rel, name := entry.Split(upperPath[len(s.tree.layerUpper(l)):])
	dirfd, err = entry.OpenBeneath(storage, l.Upper+"/"+rel, unix.O_RDONLY|unix.O_DIRECTORY)
	return dirfd, name, err
}

// rescanAsNew lists an upper entry and what is below it as if the host had
// nothing there, which is so once the rename is accepted.
func (s *scan) rescanAsNew(path string) {
	dirfd, name, err := s.openUpperParent(path)
	if err != nil {
		s.cannotRead(path, err)
		return
	}
	layer, _ := s.tree.LayerOf(path)
	upperPath, _ := s.tree.UpperPath(path)
	d := dir{layer: &layer, upper: dirfd, lower: -1, shadow: -1}
	d.path, _ = entry.Split(path)
	d.upperPath, _ = entry.Split(upperPath)
	defer d.close()
	st := step{s: s, d: &d}
	st.one(name)
	s.add(d.path, st.rows)
}
