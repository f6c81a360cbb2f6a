package apply

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
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

// sortRows puts the answer in order of path, each path once.
func sortRows(rows []Row) []Row {
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(x.Path, y.Path) })
	return slices.CompactFunc(rows, func(x, y Row) bool { return x.Path == y.Path })
}
