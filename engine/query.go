package engine

import (
	"context"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/fault"
	"sandbox/engine/pattern"
)

// Changes finds the changes that a query means. A pattern that matches nothing
// is a fault with code NoMatch; a query without patterns may match nothing.
func (e *Engine) Changes(ctx context.Context, name string, q Query) (Changes, error) {
	b, err := e.openRecovered(ctx, name)
	if err != nil {
		return Changes{}, err
	}
	found, _, err := b.query(ctx, q)
	return found, err
}

// countMost is the number of changes up to which lines are counted. To count
// them every file is read on both sides: seconds for 100,000, in a table that
// nobody reads line by line.
const countMost = 10_000

// query scans and matches. It also gives the matcher, which knows what was
// named exactly. A git directory that the query reaches into is listed file by
// file.
func (b *box) query(ctx context.Context, q Query) (Changes, *matcher, error) {
	b.bases()
	set, err := changes.Scan(ctx, b.tree, scanOptions())
	if err != nil {
		return Changes{}, nil, err
	}
	apply.Settle(b.journal(), set.Changes)
	m, err := compile(q, set)
	if err != nil {
		return Changes{}, nil, err
	}
	if err := b.group(set, m.into); err != nil {
		return Changes{}, nil, err
	}
	b.refine(set.Changes)
	found := Changes{}
	b.markIgnored(set)
	left := tally{}
	all := len(set.Changes)
	set.Keep(func(c *changes.Change) bool {
		wanted := m.match(c)
		switch {
		case c.Ignored == nil || (wanted && (q.Ignored || m.namesIgnored(c))):
			return wanted
		case wanted:
			left.add(c)
		default:
			found.ExternalIgnored++
		}
		return false
	})
	if err := m.unused(); err != nil {
		return Changes{}, nil, err
	}
	found.Matching, found.Unreadable = set.Changes, set.Unreadable
	found.Ignored, found.IgnoredBy = left.total, left.list()
	found.External = all - len(set.Changes)
	if q.Counts {
		if found.Uncounted = len(set.Changes) > countMost; !found.Uncounted {
			if err := changes.Count(ctx, set, nil); err != nil {
				return Changes{}, nil, err
			}
		}
	}
	found.External -= found.Ignored + found.ExternalIgnored
	return found, m, nil
}

// matcher decides which changes a query means.
type matcher struct {
	all      bool
	dirs     []string // without patterns: the directory, as given and resolved
	patterns []pattern.Pattern
	used     []bool
}

func compile(q Query, set *changes.Set) (*matcher, error) {
	m := &matcher{all: q.All || (q.Dir == "" && len(q.Patterns) == 0)}
	if m.all {
		return m, nil
	}
	if q.Dir != "" && q.Dir[0] != '/' {
		return nil, fault.New(fault.Usage, "find changes", q.Dir, "the directory is not absolute", "")
	}
	if len(q.Patterns) == 0 {
		m.dirs = []string{strings.TrimSuffix(q.Dir, "/"), resolve(q.Dir)}
		return m, nil
	}
	dir := q.Dir
	if dir == "" {
		dir = "/"
	}
	facts := pattern.Facts{Resolve: resolve, Exists: func(abs string) bool { return exists(set, abs) }}
	for _, text := range q.Patterns {
		p, err := pattern.Compile(dir, text, facts)
		if err != nil {
			return nil, err
		}
		m.patterns = append(m.patterns, p)
	}
	m.used = make([]bool, len(m.patterns))
	return m, nil
}

// exists reports whether a path is on the host or in the change set.
func exists(set *changes.Set, abs string) bool {
	var st unix.Stat_t
	if unix.Lstat(abs, &st) == nil {
		return true
	}
	for i := range set.Changes {
		c := &set.Changes[i]
		if pattern.Below(c.Path, abs) || (c.From != "" && pattern.Below(c.From, abs)) {
			return true
		}
	}
	return false
}

// match reports whether a change is meant. Either path of a rename is enough.
func (m *matcher) match(c *changes.Change) bool {
	if m.all {
		return true
	}
	hit := false
	for _, path := range [...]string{c.Path, c.From} {
		if path == "" {
			continue
		}
		for _, dir := range m.dirs {
			if dir == "" || pattern.Below(path, dir) {
				return true
			}
		}
		for i, p := range m.patterns {
			if p.Match(path) {
				m.used[i] = true
				hit = true
			}
		}
	}
	return hit
}

// into reports whether something below a directory is meant by its name.
func (m *matcher) into(dir string) bool {
	for _, d := range m.dirs {
		if d != dir && pattern.Below(d, dir) {
			return true
		}
	}
	return slices.ContainsFunc(m.patterns, func(p pattern.Pattern) bool { return p.Into(dir) })
}

// names reports whether a pattern is exactly the path of a change.
func (m *matcher) names(c *changes.Change) bool {
	for _, p := range m.patterns {
		if p.Names(c.Path) || (c.Kind == changes.Renamed && p.Names(c.From)) {
			return true
		}
	}
	return false
}

// namesIgnored reports whether a pattern is exactly the path of an ignored
// change, or an ignored directory that it is in.
func (m *matcher) namesIgnored(c *changes.Change) bool {
	if m.names(c) {
		return true
	}
	for _, p := range m.patterns {
		for at := path.Dir(c.Path); pattern.Below(at, c.Ignored.Top); at = path.Dir(at) {
			if p.Names(at) {
				return true
			}
			if at == "/" {
				break
			}
		}
	}
	return false
}

// unused is the error for the first pattern that matched nothing.
func (m *matcher) unused() error {
	for i, used := range m.used {
		if !used {
			return fault.New(fault.NoMatch, "find changes", m.patterns[i].Text, "nothing that changed matches",
				"`sandbox status /` lists all changes; nothing was done.")
		}
	}
	return nil
}
