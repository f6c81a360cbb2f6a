package apply

import (
	"slices"
	"strings"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/view"
)

// creates plans all that comes, in order of path, so that directories come
// before what is in them.
func (a *acceptor) creates(items []*item) {
	slices.SortStableFunc(items, func(x, y *item) int { return comparePaths(x.path(), y.path()) })
	parked := map[*item]string{}
	for i, it := range a.moves {
		parked[it] = string(a.steps[i].Path)
	}
	// Where a parked directory is now: another one that holds it may have moved on.
	var since []step
	for i := range a.moves {
		since = append(since, a.steps[i])
	}
	where := func(i int, path string) string {
		for _, s := range since[i+1:] {
			if within(path, string(s.From)) {
				path = string(s.Path) + path[len(s.From):]
			}
		}
		return path
	}
	var late []*item
	for _, it := range items {
		if it.change.Kind == changes.Deleted { // below a renamed directory
			late = append(late, it)
			continue
		}
		if !a.parents(it.path()) {
			continue
		}
		if !it.redirect() {
			a.create(it)
			continue
		}
		if it.here.Exists() {
			a.steps = append(a.steps, step{
				Do: doRemove, Path: pathText(it.path()), Before: it.herePrint, After: entry.PrintNone,
				tree: a.tree(it.path()), change: changes.Deleted,
			})
		}
		move := step{
			Do: doMove, From: pathText(where(slices.Index(a.moves, it), parked[it])), Path: pathText(it.path()),
			Before: "dir", After: "dir", change: changes.Renamed,
		}
		since = append(since, move)
		a.steps = append(a.steps, move)
		a.made[it.path()] = true
		a.done = append(a.done, Row{it.path(), changes.Renamed})
		if meta := a.meta(it); !sameMeta(meta, it.hostMeta) {
			a.attr(it.path(), "dir", it.hostMeta, meta, changes.Renamed)
		}
	}
	slices.SortStableFunc(late, func(x, y *item) int { return strings.Compare(y.path(), x.path()) })
	for _, it := range late {
		a.steps = append(a.steps, step{
			Do: doRemove, Path: pathText(it.path()), Before: it.hostPrint, After: entry.PrintNone,
			tree: map[string]entry.Entry{}, change: changes.Deleted,
		})
	}
}

// opens lets the owner write in the directories where something comes or goes.
// At the end of the operation each has its mode again.
func (a *acceptor) opens() {
	var steps []step
	seen := map[string]bool{}
	for i := range a.steps {
		dir := parent(string(a.steps[i].Path))
		meta, shut := a.world.shut[dir]
		if !shut || seen[dir] || a.steps[i].Do == doAttr {
			continue
		}
		seen[dir] = true
		old := meta
		meta.MtimeNs = 0
		steps = append(steps, step{
			Do: doAttr, Path: pathText(dir), Before: entry.PrintDir, After: entry.PrintDir, Old: &old, New: &meta,
			Implied: true, change: changes.Attributes,
		})
	}
	for i := range a.steps { // taken back, it stays open until its own step is
		if s := &a.steps[i]; s.Do == doAttr && seen[string(s.Path)] {
			old := *s.Old
			old.Mode |= 0o700
			s.Old = &old
		}
	}
	a.steps = append(steps, a.steps...)
}

// comparePaths orders by components, so that "a/b" comes right after "a".
func comparePaths(x, y string) int {
	return slices.Compare(strings.Split(x, "/"), strings.Split(y, "/"))
}

// parents makes sure that the directory of path will be there, and adds what
// is missing. It reports false when something stands in the way.
func (a *acceptor) parents(path string) bool {
	var missing []string
	for dir := parent(path); dir != "/" && !a.made[dir]; dir = parent(dir) {
		now := a.world.host[dir]
		if now.Type == entry.Dir && !a.movedAway(dir) && !a.going[dir] {
			break
		}
		if now.Exists() && now.Type != entry.Dir && !a.going[dir] {
			what := "a " + string(now.Type)
			if now.Type == entry.Symlink {
				what = "a symbolic link"
			}
			a.blocked = append(a.blocked, Skip{path, "on the host " + dir + " is " + what + ", not a directory; accept that path too"})
			return false
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		box, ok := a.world.box[dir]
		if !ok || box.entry.Type != entry.Dir {
			a.blocked = append(a.blocked, Skip{path, "its directory " + dir + " is on neither side"})
			return false
		}
		meta := box.meta
		if !a.opt.Special {
			meta = a.world.domestic(dir, entry.Entry{}, meta)
			meta.Xattrs = withoutCapability(meta.Xattrs)
			meta.Mode &^= 0o4000
		}
		a.made[dir] = true
		a.steps = append(a.steps, step{
			Do: doMake, Path: pathText(dir), Type: entry.Dir, Before: entry.PrintNone, After: "dir",
			New: &meta, Implied: true, change: changes.Added,
		})
		a.done = append(a.done, Row{dir, changes.Added})
		a.implied = append(a.implied, Row{dir, changes.Added})
	}
	return true
}

// create adds what one item needs.
func (a *acceptor) create(it *item) {
	if it.result != nil {
		a.createPart(it)
		return
	}
	path, c := it.path(), it.change
	host, hostPrint := it.host, it.hostPrint
	if c.Kind == changes.Renamed {
		host, hostPrint = it.here, it.herePrint
	}
	meta := a.meta(it)
	// A file with more names is replaced for new attributes too: in the sandbox
	// the others have not got them.
	linked := host.Type == entry.File && host.Nlink > 1 && c.Kind == changes.Attributes && !onlyBits(it.hostMeta, it.boxMeta, meta)
	if !it.lazy && !linked && host.Type == it.box.Type && hostPrint == it.boxPrint {
		if it.box.Type == entry.Dir {
			a.made[path] = true
		}
		if c.Kind == changes.Attributes && onlyBits(it.hostMeta, it.boxMeta, meta) {
			return // said by meta
		}
		a.attr(path, it.boxPrint, it.hostMeta, meta, c.Kind)
		a.done = append(a.done, Row{path, c.Kind})
		return
	}
	s := step{
		Do: doMake, Path: pathText(path), Type: it.box.Type, Target: pathText(it.box.Target), Rdev: it.box.Rdev,
		Before: hostPrint, After: it.boxPrint, New: &meta,
		Loose: it.loose && it.box.Type == entry.File, source: source{upper: path}, tree: a.tree(path), change: c.Kind,
	}
	a.link(it, &s)
	a.steps = append(a.steps, s)
	if it.box.Type == entry.Dir {
		a.made[path] = true
	}
	a.done = append(a.done, Row{path, c.Kind})
}

// createPart adds the step for chosen hunks: what they make of the host's
// version, with the host's owner, ACL and xattrs.
func (a *acceptor) createPart(it *item) {
	r, path := it.result, it.hostAt
	a.done = append(a.done, Row{it.path(), it.change.Kind})
	if it.newName {
		a.createRenamed(it)
		return
	}
	switch {
	case r.Type == entry.None || r.Type == "":
		a.steps = append(a.steps, step{
			Do: doRemove, Path: pathText(path), Before: it.hostPrint, After: entry.PrintNone,
			tree: a.tree(path), change: it.change.Kind,
		})
		return
	case r.Type != it.host.Type || r.Type == entry.Symlink:
		meta := a.meta(it)
		a.steps = append(a.steps, step{
			Do: doMake, Path: pathText(path), Type: r.Type, Target: pathText(r.Target), Rdev: it.box.Rdev,
			Before: it.hostPrint, After: it.boxPrint, New: &meta,
			source: source{upper: it.path()}, tree: a.tree(path), change: it.change.Kind,
		})
		return
	}
	meta := it.hostMeta
	meta.MtimeNs = 0
	if r.Mode != it.host.Mode {
		meta.Mode = a.bits(it, r.Mode)
	}
	after := entry.PrintBytes(r.Data)
	a.breaks(it)
	if r.Type != entry.File || after == it.hostPrint {
		meta.MtimeNs = it.hostMeta.MtimeNs
		a.attr(path, it.hostPrint, it.hostMeta, meta, it.change.Kind)
		return
	}
	a.steps = append(a.steps, step{
		Do: doMake, Path: pathText(path), Type: entry.File, Before: it.hostPrint, After: after,
		New: &meta, source: source{data: r.Data, bytes: true}, change: it.change.Kind,
	})
}

// createRenamed gives the host's file its new name, with the chosen hunks only.
func (a *acceptor) createRenamed(it *item) {
	meta := it.hostMeta
	meta.Mode = a.bits(it, it.result.Mode)
	after := entry.PrintBytes(it.result.Data)
	if after != it.hostPrint {
		meta.MtimeNs = 0
	}
	a.steps = append(a.steps, step{
		Do: doMake, Path: pathText(it.path()), Type: entry.File, Before: it.herePrint, After: after,
		New: &meta, source: source{data: it.result.Data, bytes: true}, tree: a.tree(it.path()), change: changes.Renamed,
	})
}

func (a *acceptor) attr(path string, print entry.Print, old, meta view.Meta, kind changes.Kind) {
	a.steps = append(a.steps, step{
		Do: doAttr, Path: pathText(path), Before: print, After: print, Old: &old, New: &meta, change: kind,
	})
}
