package sensitive

import (
	"strings"
	"sync"

	"sandbox/engine/entry"
)

// index is the catalogue made ready for look-ups that allocate nothing: a
// status of 100,000 rows asks for each of them. It is built on the first one:
// starting a command needs none of it.
var index = sync.OnceValue(buildIndex)

// anchor is where a place of the catalogue is counted from.
type anchor int

const (
	anchorRoot anchor = iota // "/…"
	anchorHome               // "~/…"
	anchorAny                // any directory
	anchors
)

type catalogueIndex struct {
	exact [anchors]map[string]Mark // the place is the end of the path
	tree  [anchors]map[string]Mark // the path itself and all below
	above [anchors]map[string]Mark // directories above a place
	begin []beginning              // few: all are tried for a path in a home
	// longest is the largest number of components of a place of anchorAny.
	longest int
}

// beginning is a place in a home directory that a star ends.
type beginning struct {
	prefix string
	mark   Mark
}

func buildIndex() *catalogueIndex {
	x := &catalogueIndex{}
	for a := range anchors {
		x.exact[a], x.tree[a], x.above[a] = map[string]Mark{}, map[string]Mark{}, map[string]Mark{}
	}
	for _, g := range catalogue {
		m := Mark{Level: g.level, Reason: g.reason}
		for _, place := range g.places {
			x.add(place, m)
		}
	}
	return x
}

func (x *catalogueIndex) add(place string, m Mark) {
	a, key := anchorAny, place
	switch {
	case strings.HasPrefix(place, "~/"):
		a, key = anchorHome, place[2:]
	case strings.HasPrefix(place, "/"):
		a = anchorRoot
	}
	if prefix, ok := strings.CutSuffix(key, "*"); ok {
		x.begin = append(x.begin, beginning{prefix, m})
		return
	}
	if dir, isTree := strings.CutSuffix(key, "/"); isTree {
		key = dir
		put(x.tree[a], key, m)
	} else {
		put(x.exact[a], key, m)
	}
	if a == anchorAny {
		x.longest = max(x.longest, strings.Count(key, "/")+1)
	}
	m.Reason = "may hold what " + m.Reason
	for i := strings.LastIndexByte(key, '/'); i > 0; i = strings.LastIndexByte(key[:i], '/') {
		put(x.above[a], key[:i], m)
	}
}

// put keeps the stronger of two marks.
func put(m map[string]Mark, key string, mark Mark) {
	if old, ok := m[key]; ok {
		mark = *worst(&old, &mark)
	}
	m[key] = mark
}

// find returns the strongest mark that a table has for the path p itself.
func (x *catalogueIndex) find(table *[anchors]map[string]Mark, p, home string) *Mark {
	var best *Mark
	if m, ok := table[anchorRoot][p]; ok {
		best = worst(best, &m)
	}
	if _, rel := homeOf(p, home); rel != "" {
		if m, ok := table[anchorHome][rel]; ok {
			best = worst(best, &m)
		}
	}
	for i, n := len(p), 0; i > 0 && n < x.longest; n++ {
		i = strings.LastIndexByte(p[:i], '/')
		if m, ok := table[anchorAny][p[i+1:]]; ok {
			best = worst(best, &m)
		}
	}
	return best
}

// begins returns the mark of a place that a star ends.
func (x *catalogueIndex) begins(p, home string) *Mark {
	_, rel := homeOf(p, home)
	for i := range x.begin {
		if rel != "" && strings.HasPrefix(rel, x.begin[i].prefix) {
			return &x.begin[i].mark
		}
	}
	return nil
}

// listed looks p up in the catalogue: p itself, and the directories above it.
func (f *Finder) listed(p string, host, sandbox entry.Entry) *Mark {
	if newDir(host, sandbox) {
		return nil
	}
	x, dir := index(), parent(p)
	if dir != f.dir || dir == "" {
		f.dir, f.dirMark = dir, nil
		for q := dir; q != "" && (f.dirMark == nil || f.dirMark.Level != LevelHold); q = parent(q) {
			f.dirMark = worst(f.dirMark, x.find(&x.tree, q, f.Home))
		}
	}
	return worst(f.dirMark, x.find(&x.tree, p, f.Home), x.find(&x.exact, p, f.Home), x.begins(p, f.Home))
}

// parent is the directory of p, "" for one at the top.
func parent(p string) string { return p[:max(0, strings.LastIndexByte(p, '/'))] }
