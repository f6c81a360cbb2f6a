package apply

import (
	"slices"
	"strings"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/view"
)

// rejector builds the plan of a reject: what is done to the sandbox's view so
// that it shows the host's state again.
type rejector struct {
	plan
	world world
	going map[string]bool // paths of the sandbox that go
	back  map[string]bool // paths of the host that are seen again
	made  map[string]bool // directories that are there when their turn comes
}

// planReject works out the steps. What cannot be done without touching changes
// that were not chosen is skipped.
func planReject(items []*item, world world) (*plan, error) {
	r := &rejector{world: world, going: map[string]bool{}, back: map[string]bool{}, made: map[string]bool{}}
	if err := guardStorage(items, world.tree); err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(slices.Clone(items), func(it *item) bool {
		if it.trouble == "" && it.covered && isDevice(it.host.Type) && it.change.Kind != changes.Attributes {
			it.trouble = cannotShow
		}
		if it.trouble != "" {
			r.skip(it.path(), "%s", it.trouble)
		}
		return it.trouble != ""
	})
	for _, it := range items {
		if knot, tangled := world.tangled[it]; tangled && it.redirect() {
			r.blocked = append(r.blocked, Skip{it.path(), knot.reason()})
		}
	}
	items = r.choose(items)
	r.needed(items)
	if err := r.refuse("reject", Options{}); err != nil {
		return nil, err
	}
	r.removes(items)
	r.restores(items)
	return &r.plan, nil
}

// A device is the one kind that nobody can make in a sandbox. The host's own is
// seen again as soon as nothing covers it.
const cannotShow = "a device cannot be made in the sandbox, and the host's is covered by a directory that the sandbox replaced"

// leaves says that the sandbox's entry at the item's own path goes.
func leaves(it *item) bool {
	if it.result != nil {
		return !it.box.Exists() || it.result.Type == entry.None || it.result.Type == ""
	}
	switch it.change.Kind {
	case changes.Added, changes.Renamed, changes.TypeChanged:
		return true
	}
	return false
}

// choose leaves out the directories that hold changes which were not chosen.
func (r *rejector) choose(items []*item) []*item {
	touched := map[string]bool{}
	for _, it := range items {
		touched[it.path()] = true
		if leaves(it) {
			r.going[it.path()] = true
		}
	}
	return slices.DeleteFunc(items, func(it *item) bool {
		if !leaves(it) || it.box.Type != entry.Dir {
			return false
		}
		for path, e := range r.world.inBox[it.path()] {
			if !r.going[path] && !(it.redirect() && (touched[path] || e.Type == entry.Dir)) {
				delete(r.going, it.path())
				r.skip(it.path(), "it holds changes that were not chosen: %s", path)
				return true
			}
		}
		return false
	})
}

// needed refuses what can be given up only together with other changes.
func (r *rejector) needed(items []*item) {
	chosen := map[string]bool{}
	var froms []string
	for _, it := range items {
		chosen[it.path()] = true
		if it.redirect() {
			froms = append(froms, it.change.From)
		}
	}
	moved := func(path string) bool {
		return slices.ContainsFunc(froms, func(from string) bool { return within(path, from) })
	}
	for _, it := range items {
		if it.change.Kind != changes.Renamed || it.result != nil {
			continue
		}
		if _, taken := r.world.inPlace[it.change.From]; taken && !r.going[it.change.From] {
			r.blocked = append(r.blocked, Skip{it.path(), "the sandbox has something else at " + it.change.From + " now; reject that too"})
			continue
		}
		if !it.redirect() {
			continue
		}
		if below(it.change.From, it.path()) && !moved(it.path()) {
			r.blocked = append(r.blocked, Skip{it.path(), "it took the place of the directory that it was in (" + it.change.From +
				"), which cannot be given up in one piece; move it back in the sandbox"})
			continue
		}
		for path := range r.world.listing[it.path()] {
			if !r.world.covered[path] && !chosen[path] && !moved(path) {
				r.blocked = append(r.blocked, Skip{it.path(), "it took the place of what the host has at " + path + "; reject that too"})
				break
			}
		}
	}
}

// removes plans what goes, the deepest first.
func (r *rejector) removes(items []*item) {
	under := func(path string) bool { // goes back with its renamed directory
		return slices.ContainsFunc(items, func(it *item) bool { return it.redirect() && below(path, it.path()) })
	}
	for _, it := range items {
		if !r.going[it.path()] || under(it.path()) || it.redirect() || !it.box.Exists() {
			continue
		}
		if it.change.Kind == changes.TypeChanged && it.box.Type != entry.Dir && it.host.Type != entry.Dir {
			continue // replaced in one step
		}
		before := it.boxPrint
		if it.box.Type == entry.Dir {
			before = view.EmptyDir
		}
		r.steps = append(r.steps, step{
			Do: doRemove, Path: pathText(it.path()), Before: before, After: entry.PrintNone,
			Type: it.box.Type, source: source{upper: it.path()}, change: it.change.Kind,
		})
	}
	for _, it := range items {
		if it.redirect() {
			r.steps = append(r.steps, step{
				Do: doUnmove, Path: pathText(it.path()), From: pathText(it.change.From), Before: "dir", After: entry.PrintNone,
				source: source{upper: it.path()}, change: it.change.Kind,
			})
		}
	}
	slices.SortStableFunc(r.steps, func(x, y step) int { return strings.Compare(string(y.Path), string(x.Path)) })
}

// restores plans what the sandbox sees again, directories before what is in them.
func (r *rejector) restores(items []*item) {
	place := func(it *item) string {
		if it.change.Kind == changes.Renamed && it.result == nil {
			return it.change.From
		}
		return it.path()
	}
	slices.SortStableFunc(items, func(x, y *item) int { return comparePaths(place(x), place(y)) })
	for _, it := range items {
		if it.change.Kind == changes.Deleted {
			r.back[it.path()] = true
		}
	}
	var shown []string // directories that come back whole
	var renamed []string
	for _, it := range items {
		if it.redirect() {
			renamed = append(renamed, it.path())
		}
	}
	for _, it := range items {
		path := place(it)
		r.done = append(r.done, Row{it.path(), it.change.Kind})
		if slices.ContainsFunc(shown, func(dir string) bool { return below(path, dir) }) ||
			!it.redirect() && slices.ContainsFunc(renamed, func(dir string) bool { return below(it.path(), dir) }) {
			continue
		}
		if it.result != nil {
			r.part(it)
			continue
		}
		switch it.change.Kind {
		case changes.Added:
			continue
		case changes.Attributes:
			if it.host.Type == entry.File && it.host.Nlink > 1 {
				r.bring(it, path, it.boxPrint)
			} else {
				r.attr(it)
			}
			continue
		}
		if !r.parents(it, path) {
			continue
		}
		if it.redirect() {
			shown = append(shown, r.show(it.change.From, entry.PrintDir, it.change.Kind))
			if it.here.Type == entry.Dir { // what it had covered
				shown = append(shown, r.show(it.path(), entry.PrintDir, it.change.Kind))
			}
			continue
		}
		if it.host.Type == entry.Dir {
			if r.whole(it) {
				shown = append(shown, r.show(path, entry.PrintDir, it.change.Kind))
				continue
			}
			r.made[path] = true
		}
		before := it.boxPrint
		switch {
		case it.change.Kind == changes.Renamed, it.change.Kind == changes.TypeChanged && (it.box.Type == entry.Dir || it.host.Type == entry.Dir):
			before = entry.PrintNone
		}
		r.bring(it, path, before)
	}
}

// bring gives the sandbox what the host has: a copy, or the host's own where a
// copy cannot be made (a device) or would lose something (a hard link).
func (r *rejector) bring(it *item, path string, before entry.Print) {
	covered := it.covered || r.made[parent(path)]
	switch linked := it.host.Type == entry.File && it.host.Nlink > 1; {
	case isDevice(it.host.Type) && covered:
		r.skip(path, cannotShow)
	case isDevice(it.host.Type), linked && !covered:
		if before != entry.PrintNone {
			r.steps = append(r.steps, step{
				Do: doRemove, Path: pathText(path), Before: before, After: entry.PrintNone, Type: it.box.Type,
				source: source{upper: path}, change: it.change.Kind,
			})
		}
		r.show(path, it.hostPrint, it.change.Kind)
	default:
		r.make(path, it.host, it.hostAt, it.hostPrint, before, it.hostMeta, it.change.Kind)
	}
}

// show adds the step that lets a directory, or a device, of the host be seen again.
func (r *rejector) show(path string, print entry.Print, kind changes.Kind) string {
	r.steps = append(r.steps, step{
		Do: doShow, Path: pathText(path), Before: entry.PrintNone, After: print, change: kind,
	})
	return path
}

func (r *rejector) make(path string, host entry.Entry, hostAt string, after, before entry.Print, meta view.Meta, kind changes.Kind) {
	r.steps = append(r.steps, step{
		Do: doMake, Path: pathText(path), Type: host.Type, Target: pathText(host.Target),
		Before: before, After: after, New: &meta, source: source{host: hostAt}, change: kind,
	})
}

// whole says whether everything that the host has in a directory comes back.
func (r *rejector) whole(it *item) bool {
	for path := range r.world.listing[it.hostAt] {
		if !r.back[it.path()+path[len(it.hostAt):]] {
			return false
		}
	}
	return true
}

// part plans what chosen hunks leave of the sandbox's version.
func (r *rejector) part(it *item) {
	res, path := it.result, it.path()
	if res.Type == entry.None || res.Type == "" {
		return // it goes
	}
	if !r.parents(it, path) {
		return
	}
	if res.Type != it.box.Type || res.Type == entry.Symlink {
		r.make(path, it.host, it.hostAt, it.hostPrint, it.boxPrint, it.hostMeta, it.change.Kind)
		return
	}
	meta := it.boxMeta
	meta.Mode = res.Mode
	after := entry.PrintBytes(res.Data)
	if res.Type != entry.File || after == it.boxPrint {
		old := it.boxMeta
		r.steps = append(r.steps, step{
			Do: doAttr, Path: pathText(path), Before: it.boxPrint, After: it.boxPrint, Old: &old, New: &meta, change: it.change.Kind,
		})
		return
	}
	meta.MtimeNs = 0
	if after == it.hostPrint { // nothing of the sandbox's is left
		meta.MtimeNs = it.hostMeta.MtimeNs
	}
	r.steps = append(r.steps, step{
		Do: doMake, Path: pathText(path), Type: entry.File, Before: it.boxPrint, After: after, New: &meta,
		source: source{data: res.Data, bytes: true}, change: it.change.Kind,
	})
}

func (r *rejector) attr(it *item) {
	old, meta := it.boxMeta, it.hostMeta
	r.steps = append(r.steps, step{
		Do: doAttr, Path: pathText(it.path()), Before: it.boxPrint, After: it.boxPrint, Old: &old, New: &meta, change: it.change.Kind,
	})
}

// parents makes the directories that the sandbox has deleted above a path.
func (r *rejector) parents(it *item, path string) bool {
	var missing []string
	for dir := parent(path); dir != "/" && !r.made[dir]; dir = parent(dir) {
		f, known := r.world.box[dir]
		if !known || (f.entry.Type == entry.Dir && !r.going[dir]) {
			break
		}
		if f.entry.Exists() && !r.going[dir] {
			r.skip(it.path(), "in the sandbox %s is no directory; reject that too", dir)
			return false
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		host := r.world.host[dir]
		if host.Type != entry.Dir {
			r.skip(it.path(), "its directory %s is on neither side", dir)
			return false
		}
		meta := view.Meta{Mode: host.Mode, UID: host.UID, GID: host.GID, MtimeNs: host.MtimeNs}
		r.made[dir] = true
		r.steps = append(r.steps, step{
			Do: doMake, Path: pathText(dir), Type: entry.Dir, Before: entry.PrintNone, After: "dir",
			New: &meta, Implied: true, source: source{host: dir}, change: changes.Deleted,
		})
		r.done = append(r.done, Row{dir, changes.Deleted})
		r.implied = append(r.implied, Row{dir, changes.Deleted})
	}
	return true
}
