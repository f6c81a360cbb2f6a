package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// world is what a plan must know beside the items. It holds values only, so a
// plan is a function of values.
type world struct {
	tree changes.Tree
	// uid and gid are those of the one who accepts.
	uid, gid uint32
	// host and box describe the directories above the items, by path.
	host map[string]entry.Entry
	box  map[string]dirFacts
	// listing is what the host has below each directory that goes, is
	// replaced, or makes room for a renamed one.
	listing map[string]map[string]entry.Entry
	// shut are directories of the host, above the items, in which their owner
	// may not write now.
	shut map[string]view.Meta
	// inPlace is what the sandbox has now at the old places of what it renamed.
	inPlace map[string]entry.Entry
	// tangled are the items that need a renamed directory which was not chosen.
	tangled map[*item]renamedDir
	// covered are host paths at a renamed directory's new place that it has too.
	covered map[string]bool
	// inBox is what the upper has below each directory of the sandbox that a
	// reject removes.
	inBox map[string]map[string]entry.Entry
}

// dirFacts is a directory in the sandbox.
type dirFacts struct {
	entry entry.Entry
	meta  view.Meta
}

// plan is what will be done, in this order.
type plan struct {
	steps   []step
	done    []Row
	skipped []Skip
	notes   []Skip // of what is done in another way than the sandbox has it
	implied []Row  // directories that nobody chose, which have to come first
	blocked []Skip // reasons to refuse all, or to skip these
}

func (p *plan) skip(path, format string, args ...any) {
	p.skipped = append(p.skipped, Skip{Path: path, Reason: fmt.Sprintf(format, args...)})
}

func (p *plan) note(path, format string, args ...any) {
	p.notes = append(p.notes, Skip{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// refuse turns what stands against the plan into an error.
func (p *plan) refuse(op string, opt Options) error {
	if len(p.blocked) == 0 {
		return nil
	}
	if opt.SkipConflicts {
		p.skipped = append(p.skipped, p.blocked...)
		return nil
	}
	first := p.blocked[0]
	reason := first.Reason
	if n := len(p.blocked) - 1; n > 0 {
		reason += fmt.Sprintf(" (and %d more)", n)
	}
	return fault.New(fault.Conflict, op, first.Path, reason,
		"Nothing was written. Look at both sides with `sandbox diff`, take single blocks, or leave such paths out with --skip-conflicts.")
}

// acceptor builds the plan of an accept.
type acceptor struct {
	plan
	world world
	opt   Options
	going map[string]bool // host paths that go
	kept  map[string]bool // directories that keep something
	moves []*item         // renames of directories, deepest old name first
	made  map[string]bool // paths that become directories
	// replaced are directories of the host that something else takes the place of.
	replaced map[string]bool
	names    names
}

// planAccept works out the steps that bring the items to the host. It refuses
// before anything is written.
func planAccept(items []*item, world world, opt Options) (*plan, error) {
	a := &acceptor{world: world, opt: opt, going: map[string]bool{}, made: map[string]bool{}, replaced: map[string]bool{}}
	if err := guardStorage(items, world.tree); err != nil {
		return nil, err
	}
	items = a.possible(items)
	items = a.wholeDirs(items)
	a.names = countNames(items)
	creating := a.removes(items)
	a.parks(creating)
	a.creates(creating)
	a.halves(creating)
	a.opens()
	if err := a.refuse("accept", opt); err != nil {
		return nil, err
	}
	return &a.plan, nil
}

// guardStorage refuses what would write into, or move, a sandbox's storage.
func guardStorage(items []*item, tree changes.Tree) error {
	for _, it := range items {
		for _, path := range []string{it.path(), it.hostAt} {
			for _, mask := range append([]string{tree.Storage}, tree.Masks...) {
				goes := it.host.Type == entry.Dir && it.box.Type != entry.Dir || it.redirect()
				if within(path, mask) || (goes && below(mask, path)) {
					return fault.New(fault.Failed, "apply", path,
						"it is, or holds, a directory that is kept out of sandboxes ("+mask+")",
						"Leave this path out.")
				}
			}
		}
	}
	return nil
}

// bothChanged names both sides of a conflict.
func bothChanged(it *item) string {
	return "both sides changed it since the sandbox took its copy: the host has " + version(it.host) + ", the sandbox " + version(it.box)
}

func version(e entry.Entry) string {
	switch e.Type {
	case entry.None, "":
		return "nothing"
	case entry.File:
		return fmt.Sprintf("%d bytes of %s", e.Size, time.Unix(0, e.MtimeNs).Format("2006-01-02 15:04:05"))
	case entry.Symlink:
		return fmt.Sprintf("a link to %q", e.Target)
	}
	return "a " + string(e.Type)
}

// possible leaves out what cannot be taken, and finds the conflicts.
func (a *acceptor) possible(items []*item) []*item {
	var can []*item
	left := map[string]bool{} // directories of the host that are not replaced
	for _, it := range items {
		c := it.change
		before := len(can)
		knot, tangled := a.world.tangled[it]
		switch {
		case it.trouble != "":
			a.skip(it.path(), "%s", it.trouble)
		case tangled:
			a.blocked = append(a.blocked, Skip{it.path(), knot.reason()})
		case it.box.Type == entry.Socket:
			a.skip(it.path(), "a socket is not copied")
		case (it.box.Type == entry.Char || it.box.Type == entry.Block) && !a.opt.Special:
			a.skip(it.path(), "a device is not copied")
		case c.Conflict && it.hunks == nil && it.hostPrint != it.boxPrint:
			a.blocked = append(a.blocked, Skip{it.path(), bothChanged(it)})
		case c.Kind == changes.Added && it.host.Exists() && it.hostPrint != it.boxPrint,
			c.Kind == changes.Renamed && it.here.Exists() && !c.Opaque && it.herePrint != it.boxPrint:
			a.blocked = append(a.blocked, Skip{it.path(), "the host has something else of that name, and so has the sandbox"})
		default:
			can = append(can, it)
		}
		if len(can) == before && c.Kind == changes.TypeChanged && it.host.Type == entry.Dir {
			left[it.hostAt] = true
		}
	}
	if len(left) == 0 {
		return can
	}
	return slices.DeleteFunc(can, func(it *item) bool {
		for dir := parent(it.hostAt); dir != "/"; dir = parent(dir) {
			if left[dir] {
				a.skip(it.path(), "its directory stays, because what replaced it is left out")
				return true
			}
		}
		return false
	})
}

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

// meta is the sandbox's metadata without what is not to be given unasked.
func (a *acceptor) meta(it *item) view.Meta {
	meta := a.owner(it, it.boxMeta)
	meta.Mode = a.bits(it, meta.Mode)
	if _, has := meta.Xattrs[rootfs.Capability]; has && !a.opt.Special {
		meta.Xattrs = withoutCapability(meta.Xattrs)
		a.skip(it.path(), "its file capabilities were left out")
	}
	return meta
}

// bits takes setuid and setgid off a file. On a directory setgid only hands
// the group down, and stays.
func (a *acceptor) bits(it *item, mode uint32) uint32 {
	const setuid, setgid = 0o4000, 0o2000
	special := mode & (setuid | setgid)
	if it.box.Type == entry.Dir {
		special = mode & setuid
	}
	if special == 0 || a.opt.Special {
		return mode
	}
	a.skip(it.path(), "its setuid or setgid bit was left out")
	return mode &^ special
}

func withoutCapability(all map[string][]byte) map[string][]byte {
	kept := map[string][]byte{}
	for name, value := range all {
		if name != rootfs.Capability {
			kept[name] = value
		}
	}
	return kept
}

// onlyBits says that nothing is left of a change of attributes once the
// special bits and capabilities are taken off.
func onlyBits(host, box, stripped view.Meta) bool {
	return sameMeta(host, stripped) && !sameMeta(host, box)
}

func sameMeta(x, y view.Meta) bool {
	if x.Mode != y.Mode || x.UID != y.UID || x.GID != y.GID || len(x.Xattrs) != len(y.Xattrs) {
		return false
	}
	for name, value := range x.Xattrs {
		if other, ok := y.Xattrs[name]; !ok || string(other) != string(value) {
			return false
		}
	}
	return true
}

// sortRows puts the answer in order of path, each path once.
func sortRows(rows []Row) []Row {
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(x.Path, y.Path) })
	return slices.CompactFunc(rows, func(x, y Row) bool { return x.Path == y.Path })
}
