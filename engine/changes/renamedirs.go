package changes

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"

	"sandbox/engine/entry"
)

// moveVoters bounds the partners that are looked at for one file: a project
// may hold thousands of equal ones.
const moveVoters = 16

// alongDirectories pairs the files of a directory that moved as a whole, each
// with the one at the same place in the new directory: an edited one however
// much was edited, an empty one, and of equal ones the right one. An overlay of
// an ordinary user knows such a move as a deleted directory and a new one.
//
// A directory has moved when at least half of its files are found unchanged at
// their places in the new one.
func (r *renames) alongDirectories(prints []entry.Print) {
	var d moves
	d.index(r.set.Changes)
	votes := d.votes(r, prints)
	order := make([]moved, 0, len(votes))
	for m := range votes {
		order = append(order, m)
	}
	slices.SortFunc(order, func(a, b moved) int {
		return cmp.Or(votes[b]-votes[a], strings.Compare(a.from, b.from), strings.Compare(a.to, b.to))
	})
	for _, m := range order {
		if 2*votes[m] >= d.files[m.from] {
			r.joinBelow(m, d.added)
		}
	}
	r.unpaired()
}

// moves is what alongDirectories knows about the rows.
type moves struct {
	goneDirs, newDirs map[string]bool
	added             map[string]int // new files and links
	files             map[string]int // how many files with content are gone below a directory that is
}

func (d *moves) index(rows []Change) {
	*d = moves{map[string]bool{}, map[string]bool{}, map[string]int{}, map[string]int{}}
	for i := range rows {
		c := &rows[i]
		switch {
		case c.Kind == Deleted && c.From == "" && c.Host.Type == entry.Dir:
			d.goneDirs[c.Path] = true
		case c.Kind == Added && c.Sandbox.Type == entry.Dir:
			d.newDirs[c.Path] = true
		case c.Kind == Added:
			d.added[c.Path] = i
		}
	}
	for i := range rows {
		if c := &rows[i]; c.Kind == Deleted && c.From == "" && movable(c.Host) {
			for dir := path.Dir(c.Path); d.goneDirs[dir]; dir = path.Dir(dir) {
				d.files[dir]++
			}
		}
	}
}

// votes counts for each pair of directories the files that speak for a move.
func (d *moves) votes(r *renames, prints []entry.Print) map[moved]int {
	votes := map[moved]int{}
	if len(d.goneDirs) == 0 || len(d.newDirs) == 0 {
		return votes
	}
	key := func(i int) string { return string(prints[i]) + "/" + path.Base(r.row(i).Path) }
	news := map[string][]int{}
	for _, i := range r.new {
		if k := key(i); prints[i] != "" && len(news[k]) < moveVoters {
			news[k] = append(news[k], i)
		}
	}
	for _, i := range r.old {
		if prints[i] == "" {
			continue
		}
		for _, j := range news[key(i)] {
			if m, ok := d.roots(r.row(i).Path, r.row(j).Path); ok {
				votes[m]++
			}
		}
	}
	return votes
}

// roots are the highest directories, one gone and one new, in which two files
// have the same place.
func (d *moves) roots(from, to string) (m moved, ok bool) {
	for path.Base(from) == path.Base(to) {
		from, to = path.Dir(from), path.Dir(to)
		if !d.goneDirs[from] || !d.newDirs[to] {
			break
		}
		m, ok = moved{from, to}, true
	}
	return m, ok
}

// joinBelow joins what is gone below m.from with what is new at the same place
// below m.to. The rows are in order of their paths.
func (r *renames) joinBelow(m moved, added map[string]int) {
	rows := r.set.Changes
	below := m.from + "/"
	first := sort.Search(len(rows), func(i int) bool { return rows[i].Path >= below })
	for i := first; i < len(rows) && strings.HasPrefix(rows[i].Path, below); i++ {
		c := &rows[i]
		if c.Kind != Deleted || c.From != "" || r.taken[i] {
			continue
		}
		j, ok := added[m.to+c.Path[len(m.from):]]
		if ok && rows[j].Kind == Added && alike(c.Host, rows[j].Sandbox) {
			r.join(i, j)
		}
	}
}

// alike says that a move can make one of the other: it changes no type.
func alike(a, b entry.Entry) bool {
	return a.Type == b.Type && (a.Type == entry.File || a.Type == entry.Symlink)
}
