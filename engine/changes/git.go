package changes

import (
	"sandbox/engine/entry"
	"sandbox/engine/gitdir"
)

// Git is what one row says that stands for all that changed inside one git
// directory: they are decided on together, because half of them is a broken
// repository.
type Git struct {
	gitdir.Report
	// Members are the rows that it stands for, in order of Path. Also .git files
	// of linked worktrees and submodules, which may lie elsewhere.
	Members []Change
	// New says that the host has no repository there.
	New bool
	// Trouble says why it cannot be accepted now, "" for nothing.
	Trouble string
	// Print is the state of both sides, for a decision to be bound to.
	Print entry.Print
}

// Accepted reports whether the host's state of a moment (a ctime) was made by
// an accept or an undo, as the mark of an upper entry says.
func Accepted(upperPath, prefix string, ctimeNs int64) bool {
	return readMarks(upperPath, prefix).covers(ctimeNs, 0)
}

// Born is the moment of an upper entry's copy-up.
func Born(up entry.Entry) int64 { return bornAt(up) }
