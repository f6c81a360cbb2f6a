// Package apply takes changes from a sandbox to the host (accept), gives the
// sandbox the host's state back (reject), and undoes either from a journal on
// disk.
//
// It plans first (plan.go, pure), refuses before the first write what cannot
// be done, then writes through temporaries and renames, checking by hash that
// what was replaced is what the decision was made on.
package apply

import (
	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/view"
)

// Selection is one change that was chosen, whole or in part.
type Selection struct {
	Change changes.Change
	// Hunks are the ids to take (accept) or drop (reject); nil means the whole change.
	Hunks []string
	// Host and Sandbox are the prints that the decision was made on. Empty
	// ones are taken when the plan is made.
	Host, Sandbox entry.Print
	// Unit is the row that this change is a part of: one that is done wholly or
	// not at all, in the order of the parts' ranks.
	Unit *Row
	Rank int
}

// Options are the wishes of one operation.
type Options struct {
	Special       bool // also setuid, setgid, file capabilities, foreign owners, devices
	SkipConflicts bool // take the rest
	// Contested are the paths that both sides changed, and that a reject leaves
	// as they are although it makes anew what stands above them.
	Contested []string
	// Before, when set, is called once before the first write, with what the
	// operation does beyond what was chosen.
	Before func(Preview)
}

// Row is one path that was done.
type Row struct {
	Path string
	Kind changes.Kind
}

// Skip is one path that was left alone.
type Skip struct {
	Path   string
	Reason string
}

// Result says what an operation did.
type Result struct {
	ID      string // of the journalled operation; "" when nothing was written
	Done    []Row
	Skipped []Skip
	// Ignored counts what was chosen and left alone because of an ignore rule,
	// WhyIgnored says which; set by package engine.
	Ignored    int
	WhyIgnored string
	Preview
}

// Preview is what an operation does that was not chosen, or does in another
// way than the other side has it.
type Preview struct {
	Implied []Row  // directories that what was chosen needs; they are in Done too
	Notes   []Skip // hard links that do not stay together
}

// Env is the sandbox that is worked on.
type Env struct {
	Tree    changes.Tree
	Journal string // absolute path of the journal directory
	// Barrier waits until the sandbox's keeper has seen what was done so far;
	// nil when there is none to wait for.
	Barrier func()
	Base    string // absolute path of the directory of bases; "" keeps none
	// View gives the merged view, starting the sandbox when it is down.
	View func() (view.View, error)
	// Hold keeps the sandbox down until release is called; false says that it is
	// not down. nil: all is done through the view.
	Hold func() (release func(), down bool)
	// Running says whether the sandbox is up now; when it is not, accept
	// leaves the view alone.
	Running bool
}
