// Package engine is the API of the sandbox: what the command line and the
// Neovim host call. Nothing above it touches a sub-package's insides, and no
// sub-package imports it.
package engine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/ignore"
)

// Engine is a storage directory full of sandboxes.
type Engine struct {
	// Storage is the absolute path of the storage directory, default ~/.sandboxes.
	Storage string
	// Notice is told, in one sentence, what a command did beside what it was
	// asked for: that it took an operation back which was cut short. nil drops it.
	Notice func(string)
}

// Info is one row of List.
type Info struct {
	Name    string
	Running bool
	Created time.Time
	Changes int // -1 when not counted
	Net     string
	Mode    string
	Project string
	Problem string // why it cannot be read or counted, "" for most
}

// RunOptions is one command to run.
type RunOptions struct {
	Name string
	Net  string // none, host; "" means none for a new start
	Dir  string // working directory, "" means the caller's
	// PlainRenames starts a sandbox of mode U without the emulation of renames
	// of the host's directories; a running one is taken as it is.
	PlainRenames bool
	Argv         []string // at least one
	Env          []string // the caller's environment, scrubbed by the engine
	Stdin        *os.File
	Stdout       *os.File
	Stderr       *os.File
}

// Query chooses changes.
type Query struct {
	Dir      string   // directory that patterns are relative to
	Patterns []string // none: everything below Dir
	All      bool     // everything, wherever it is
	Ignored  bool     // also what ignore rules leave out
	Counts   bool     // fill Added and Removed
}

// Changes is the answer to a Query.
type Changes struct {
	Matching []changes.Change
	// Uncounted says that there are too many changes to count their lines.
	Uncounted bool
	External  int // changes that the query did not match
	// Ignored counts what matched and was left out by an ignore rule, IgnoredBy
	// tells by which kinds, the most frequent first. ExternalIgnored did not
	// match; External leaves it out.
	Ignored         int
	IgnoredBy       []IgnoredBy
	ExternalIgnored int
	// Unreadable are directories of the sandbox that could not be looked into.
	Unreadable []string
}

// IgnoredBy counts the changes that one kind of rule left out.
type IgnoredBy struct {
	Kind    ignore.Kind
	Changed bool // the rules are in a file that the sandbox changed
	Count   int
	Marked  int // how many of them are sensitive (of level mark)
}

// WhyIgnored says by which rules changes were left out, "" when none were:
// "9 by .gitignore, 3 built-in noise".
func (c Changes) WhyIgnored() string {
	parts := make([]string, len(c.IgnoredBy))
	for i, n := range c.IgnoredBy {
		text := "by " + string(n.Kind)
		switch {
		case n.Kind == ignore.Noise:
			text = string(n.Kind)
		case n.Changed:
			text = "by a " + string(n.Kind) + " that changed in the sandbox"
		}
		parts[i] = fmt.Sprintf("%d %s", n.Count, text)
		if n.Marked > 0 {
			parts[i] += fmt.Sprintf(" (%d of them ⚠)", n.Marked)
		}
	}
	return strings.Join(parts, ", ")
}

// FileDiff is one path compared.
type FileDiff struct {
	Change      changes.Change
	HostHash    entry.Print
	SandboxHash entry.Print
	Base        string // same, known, unknown
	Hunks       []diff.Hunk
	Apart       [][2]diff.Range // where only the host changed lines: no blocks
	Host        diff.Side
	Sandbox     diff.Side
}

// Decision is one wish to accept or reject.
type Decision struct {
	Path    string      // absolute; a change with this path or From
	Hunks   []string    // nil: the whole change
	Host    entry.Print // what was looked at; "" for now
	Sandbox entry.Print
}

// DecideOptions belongs to Accept and Reject.
type DecideOptions struct {
	Query         Query      // chooses changes when Decisions is nil
	Decisions     []Decision // single changes or blocks
	Sensitive     bool       // take paths of level hold too
	Git           bool       // take git directories that the host has, too
	SkipConflicts bool
	Special       bool // setuid, file capabilities, devices
	// Before, when set, hears before the first write what is done beyond the wish.
	Before func(apply.Preview)
}

// The calls, each documented at its definition:
//
//	New(storage string) (*Engine, error)
//	(*Engine).Run(ctx, RunOptions) (exit int, err error)
//	(*Engine).List(ctx, counts bool) ([]Info, error)
//	(*Engine).Info(ctx, name) (Info, error)
//	(*Engine).Changes(ctx, name, Query) (Changes, error)
//	(*Engine).Diff(ctx, name, path string) (FileDiff, error)
//	(*Engine).EachDiff(ctx, name, Query, func(FileDiff) error) (Changes, error)
//	(*Engine).MapDiffs(ctx, name, Query, func(FileDiff) (func() error, error)) (Changes, error)
//	(*Engine).Accept(ctx, name, DecideOptions) (apply.Result, error)
//	(*Engine).Reject(ctx, name, DecideOptions) (apply.Result, error)
//	(*Engine).Undo(ctx, name, id string) (apply.Result, error)      // id "" = newest
//	(*Engine).ReadSandbox(ctx, name, path) (diff.Side, entry.Print, error)
//	(*Engine).WriteSandbox(ctx, name, path, data []byte, expect entry.Print) (entry.Print, error)
//	(*Engine).Stop(ctx, name) error
//	(*Engine).Delete(ctx, name) error
//	(*Engine).Sync(ctx, name, paths ...string) error
var (
	_ context.Context
	_ apply.Result
)
