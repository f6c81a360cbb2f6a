// Package diff compares two versions of one path as bytes and cuts the
// difference into hunks that can be taken one by one.
//
// It is pure: no file is opened here. Text is never decoded; a line is the
// bytes between two LF. For all inputs Apply(host, sandbox, all hunks) is the
// sandbox's version byte for byte and Apply(host, sandbox, none) is the host's.
package diff

import "sandbox/engine/entry"

// Side is one version of a path: the host's or the sandbox's.
type Side struct {
	Type   entry.Type
	Mode   uint32 // st_mode & 07777
	Data   []byte // content of a regular file
	Target string // of a symlink
}

// Kind names what a hunk changes. Lines is a line hunk; all others are
// attribute hunks, of which a path has at most one of each kind.
type Kind string

// The kinds of hunks.
const (
	Lines        Kind = "lines"
	Created      Kind = "created"       // nothing on the host
	Deleted      Kind = "deleted"       // nothing in the sandbox
	TypeChange   Kind = "type"          // file, symlink, directory … differ
	Binary       Kind = "binary"        // either side is not text: taken whole
	SymlinkMoved Kind = "symlink"       // both are symlinks, other target
	Renamed      Kind = "renamed"       // the file has another name, see Rename
	Mode         Kind = "mode"          // permission bits
	EOL          Kind = "eol"           // every line ends in LF on one side and CRLF on the other
	BOM          Kind = "bom"           // UTF-8 byte order mark on one side only
	FinalNewline Kind = "final_newline" // last line ends with a line end on one side only
)

// Range is [start, count] in lines, start counted from 1. With count 0 the
// start is the line after which the other side's lines stand (0: before the
// first line).
type Range [2]int

// Line is one line of a hunk. Text has neither line end nor BOM.
type Line struct {
	Op   string `json:"op"` // "-" host only, "+" sandbox only
	Text []byte `json:"-"`  // exact bytes
}

// Hunk is one block that a person decides on.
type Hunk struct {
	// ID is the hash of path, kind, old and new lines, three lines of context
	// on each side and the ordinal among equals; 16 hex digits.
	ID      string
	Kind    Kind
	Host    Range
	Sandbox Range
	Lines   []Line
	// Old and New say an attribute hunk's two values for people, e.g.
	// "100644"/"100755", "LF"/"CRLF", or a symlink's targets.
	Old, New string
	// Conflict says that the host changed the same place in another way since
	// the sandbox took its copy (CompareBase): taking the hunk overwrites that.
	Conflict bool
}
