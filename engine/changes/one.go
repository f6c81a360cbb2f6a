package changes

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/sensitive"
)

// One returns the change of one path: of a row with this Path, or of a renamed
// one with this From. A path that is not changed gives a fault with code NoMatch.
//
// It looks at the path and the directories above it only, except that a file
// which is new or gone may be one half of a rename; then it scans.
func One(ctx context.Context, tree Tree, path string, opts Options) (Change, error) {
	c, sure, err := lookUp(ctx, tree, path)
	if err != nil {
		return Change{}, err
	}
	if sure {
		if c.Kind == "" {
			return Change{}, noChange(path)
		}
		c.Sensitive = markOf(&c, &sensitive.Finder{Home: opts.Home})
		c.Base = cmp.Or(c.Base, BaseSame)
		return c, nil
	}
	set, err := Scan(ctx, tree, opts)
	if err != nil {
		return Change{}, err
	}
	if i, ok := set.Find(path); ok {
		return set.Changes[i], nil
	}
	i := slices.IndexFunc(set.Changes, func(c Change) bool { return c.Kind == Renamed && c.From == path })
	if i < 0 {
		return Change{}, noChange(path)
	}
	return set.Changes[i], nil
}

// Keep drops the rows that keep does not want.
func (s *Set) Keep(keep func(*Change) bool) {
	kept := 0
	for i := range s.Changes {
		if !keep(&s.Changes[i]) {
			continue
		}
		if kept < i {
			s.Changes[kept] = s.Changes[i]
		}
		kept++
	}
	clear(s.Changes[kept:])
	s.Changes = s.Changes[:kept]
}

// Find returns the index of the row with this Path.
func (s *Set) Find(path string) (int, bool) {
	return slices.BinarySearchFunc(s.Changes, path, func(c Change, p string) int { return strings.Compare(c.Path, p) })
}

func noChange(path string) error {
	return fault.New(fault.NoMatch, "look up", path, "it is not changed in the sandbox", "")
}

// lookUp compares one path. sure is false when only a scan can tell.
func lookUp(ctx context.Context, tree Tree, path string) (c Change, sure bool, err error) {
	l, ok := tree.LayerOf(path)
	if !ok || tree.Masked(path) || path == l.Host {
		return Change{}, true, nil
	}
	s, err := newScan(ctx, tree)
	if err != nil {
		return Change{}, false, err
	}
	defer s.close()
	s.path = path
	d, ok, err := s.openLayer(l)
	if err != nil {
		return Change{}, false, err
	}
	if !ok {
		return Change{}, true, nil
	}
	s.submit(d)
	if err := s.run(); err != nil {
		return Change{}, false, err
	}
	for _, p := range s.parts {
		for _, row := range p.rows {
			if row.Path == path {
				c = row
			}
		}
	}
	half := (c.Kind == Added && alike(c.Sandbox, c.Sandbox)) || (c.Kind == Deleted && alike(c.Host, c.Host))
	// With redirects, a place where something was may be where a renamed
	// directory came from.
	if tree.Xattr != UserXattr {
		half = half || c.Kind == Deleted || len(s.redirects) > 0 || s.sawOpaque.Load()
	}
	return c, !half, nil
}

// names lists a directory. A walk for one path looks at one name only.
func (s *scan) names(fd int, dir string) ([]entry.Dirent, error) {
	if s.path == "" {
		return entry.ReadDir(fd)
	}
	rest := strings.TrimPrefix(s.path[len(strings.TrimSuffix(dir, "/")):], "/")
	name, _, _ := strings.Cut(rest, "/")
	return []entry.Dirent{{Name: name}}, nil
}
