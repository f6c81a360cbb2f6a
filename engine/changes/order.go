package changes

import (
	"slices"
	"strings"
)

// part is the rows of one directory, in order of Path.
type part struct {
	dir  string
	rows []Change
}

// inOrder puts the rows of all directories in order of Path and lets go of the
// parts. To sort 100,000 rows of some hundred bytes, with paths that begin
// alike, takes longer than to walk the directories again in the right order.
func (s *scan) inOrder() []Change {
	total := 0
	parts := make(map[string][][]Change, len(s.parts))
	below := make(map[string][]string) // the directories in a directory that lead to parts
	known := map[string]bool{"/": true}
	for _, p := range s.parts {
		total += len(p.rows)
		parts[p.dir] = append(parts[p.dir], p.rows)
		for dir := p.dir; !known[dir]; {
			known[dir] = true
			up := dirOf(dir)
			below[up] = append(below[up], dir)
			dir = up
		}
	}
	s.parts = nil
	m := merger{parts: parts, below: below, out: make([]Change, 0, total)}
	m.put("/")
	return m.out
}

func dirOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

type merger struct {
	parts map[string][][]Change
	below map[string][]string
	out   []Change
}

// put appends what is below dir. What is below "a" comes where "a/" stands
// among the rows beside it: behind "a" and "a-b", before "ab".
func (m *merger) put(dir string) {
	var rows []Change
	if list := m.parts[dir]; len(list) == 1 {
		rows = list[0]
	} else if len(list) > 1 {
		rows = slices.Concat(list...)
		slices.SortStableFunc(rows, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	}
	delete(m.parts, dir)
	subs := m.below[dir]
	slices.SortFunc(subs, compareAsDirs)
	for _, sub := range subs {
		n := 0
		for n < len(rows) && compareToDir(rows[n].Path, sub) < 0 {
			n++
		}
		m.out = append(m.out, rows[:n]...)
		rows = rows[n:]
		m.put(sub)
	}
	m.out = append(m.out, rows...)
}

// compareAsDirs compares two paths as if each had a slash behind it.
func compareAsDirs(a, b string) int {
	n := min(len(a), len(b))
	if c := strings.Compare(a[:n], b[:n]); c != 0 || len(a) == len(b) {
		return c
	}
	if len(a) < len(b) {
		return slashAgainst(b[n])
	}
	return -slashAgainst(a[n])
}

// compareToDir compares a path with what is below dir.
func compareToDir(path, dir string) int {
	n := min(len(path), len(dir))
	if c := strings.Compare(path[:n], dir[:n]); c != 0 {
		return c
	}
	if len(path) <= len(dir) {
		return -1
	}
	return -slashAgainst(path[n])
}

func slashAgainst(b byte) int {
	if b == '/' {
		return 0
	}
	if '/' < b {
		return -1
	}
	return 1
}
