package apply

import (
	"fmt"
	"slices"
	"strings"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/rootfs"
)

// wholeDirs finds the directories that can go: those of which nothing stays.
func (a *acceptor) wholeDirs(items []*item) []*item {
	for _, it := range items {
		switch {
		case it.redirect():
		case it.change.Kind == changes.Deleted:
			a.going[it.hostAt] = true
		case it.takesName():
			a.going[it.change.From] = true
		}
	}
	var froms []string
	for _, it := range items {
		if it.redirect() {
			froms = append(froms, it.change.From)
		}
	}
	moved := func(path string) bool {
		return slices.ContainsFunc(froms, func(from string) bool { return within(path, from) })
	}
	a.kept = map[string]bool{}
	for dir, list := range a.world.listing {
		for path := range list {
			if a.going[path] || a.world.covered[path] || moved(path) {
				continue
			}
			for up := parent(path); within(up, dir); up = parent(up) {
				a.kept[up] = true
			}
		}
	}
	return slices.DeleteFunc(items, func(it *item) bool {
		goes := it.host.Type == entry.Dir && (it.change.Kind == changes.Deleted || it.change.Kind == changes.TypeChanged)
		if goes && a.kept[it.hostAt] {
			delete(a.going, it.hostAt)
			a.skip(it.path(), "the host's directory holds entries that stay")
			return true
		}
		if it.redirect() && it.here.Exists() && a.kept[it.path()] {
			a.skip(it.path(), "the host's directory of that name holds entries that stay")
			return true
		}
		return false
	})
}

// removes plans what goes, each directory in one step, and returns the rest.
func (a *acceptor) removes(items []*item) []*item {
	var rest []*item
	for _, it := range items {
		if it.host.Type == entry.Dir && it.change.Kind == changes.TypeChanged {
			a.replaced[it.hostAt] = true
		}
		if it.redirect() && it.here.Exists() {
			a.replaced[it.path()] = true
		}
	}
	for _, it := range items {
		if it.change.Kind != changes.Deleted {
			rest = append(rest, it)
			continue
		}
		a.done = append(a.done, Row{it.path(), changes.Deleted})
		if it.hostAt != it.path() { // after its directory has its new name
			rest = append(rest, it)
			continue
		}
		a.remove(it.hostAt, it.hostPrint)
	}
	for _, it := range items {
		if it.takesName() {
			a.remove(it.change.From, it.hostPrint)
		}
	}
	slices.SortFunc(a.steps, func(x, y step) int { return strings.Compare(string(y.Path), string(x.Path)) })
	return rest
}

// remove adds a step, unless a directory above goes as a whole.
func (a *acceptor) remove(path string, print entry.Print) {
	for up := parent(path); up != "/"; up = parent(up) {
		if a.replaced[up] || (a.going[up] && !a.kept[up]) {
			return
		}
	}
	a.steps = append(a.steps, step{
		Do: doRemove, Path: pathText(path), Before: print, After: entry.PrintNone,
		tree: a.tree(path), change: changes.Deleted,
	})
}

// tree is what the host is known to have below path.
func (a *acceptor) tree(path string) map[string]entry.Entry {
	for dir, list := range a.world.listing {
		if path != dir && (!below(path, dir) || list[path].Type != entry.Dir) {
			continue
		}
		tree := map[string]entry.Entry{}
		for p, e := range list {
			if below(p, path) && !a.movedAway(p) {
				tree[p[len(path):]] = e
			}
		}
		return tree
	}
	return map[string]entry.Entry{}
}

func (a *acceptor) movedAway(path string) bool {
	return slices.ContainsFunc(a.moves, func(it *item) bool { return within(path, it.change.From) })
}

// parks takes every renamed directory out of its old place first, so that
// swapped and rotated names do not stand in each other's way. The deepest go
// first, because one may lie in another.
func (a *acceptor) parks(items []*item) {
	for _, it := range items {
		if it.redirect() {
			a.moves = append(a.moves, it)
		}
	}
	slices.SortStableFunc(a.moves, func(x, y *item) int { return depth(y.change.From) - depth(x.change.From) })
	var steps []step
	for i, it := range a.moves {
		// In a directory that stays where it is.
		dir := parent(it.change.From)
		for up := dir; up != "/"; up = parent(up) {
			if a.going[up] || a.movedAway(up) || a.replaced[up] {
				dir = parent(up)
			}
		}
		steps = append(steps, step{
			Do: doMove, From: pathText(it.change.From),
			Path: pathText(join(dir, fmt.Sprintf("%spark-%d", rootfs.TempPrefix, i))),
			// What is checked is that it is a directory; what is in it moves along.
			Before: "dir", After: "dir", change: changes.Renamed,
		})
	}
	for i := range a.steps {
		a.steps[i].tree = a.tree(string(a.steps[i].Path))
	}
	a.steps = append(steps, a.steps...)
}
