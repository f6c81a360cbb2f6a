// Package changes turns an upper tree and its lower tree into a change set: what the
// sandbox's programs did to the machine.
package changes

import (
	"sandbox/engine/base"
	"sandbox/engine/entry"
	"sandbox/engine/ignore"
	"sandbox/engine/sensitive"
)

// Kind is what happened to a path.
type Kind string

// The kinds. Times alone are no change, and neither is a copied-up entry that
// equals the host byte for byte.
const (
	Added       Kind = "added"
	Modified    Kind = "modified"
	Deleted     Kind = "deleted"
	Renamed     Kind = "renamed" // Path is the new name, From the old one
	TypeChanged Kind = "type_changed"
	Attributes  Kind = "attributes" // mode, owner or xattrs only
)

// What is known about the base of a change.
const (
	BaseSame    = "same"    // the host still has what was copied up
	BaseKnown   = "known"   // the host changed since, and what it had is recorded
	BaseUnknown = "unknown" // the host changed since, or may have
)

// Layer is one overlay of the sandbox.
type Layer struct {
	Host  string `json:"host"`  // host path of the lower directory, "/" or "/home" …
	Upper string `json:"upper"` // path of the upper directory, relative to the sandbox's storage
}

// Tree is all that a scan needs to know about a sandbox.
type Tree struct {
	Storage string    // absolute path of ~/.sandboxes/NAME
	Layers  []Layer   // a directory that is the root of another layer is skipped in its parent layer
	Xattr   string    // "user.overlay." (mode U) or "trusted.overlay." (mode P)
	Base    *base.Set // what the keeper captured; nil: nothing
	Masks   []string  // host paths whose upper content is never a change (storage directories first of all)
}

// Change is one row of a change set.
type Change struct {
	Path string // absolute host path (the same inside the sandbox)
	// From is the old path of a rename. It is also set on every change below a
	// directory that was renamed with a redirect: where the host has it now.
	From    string
	Kind    Kind
	Upper   string      // absolute path of the upper entry; of the whiteout for a deletion; "" for what lies below a deleted directory
	Host    entry.Entry // what the host has now at Path (at From for a rename)
	Sandbox entry.Entry // what the sandbox sees at Path
	// Added and Removed are line counts, -1 when unknown (binary, too large,
	// or not asked for: see Count).
	Added, Removed int
	// Opaque marks a directory of the sandbox that hides all of the host's
	// directory of that name (of Path, on a rename).
	Opaque bool
	// Redirect is set on a directory that was renamed by the kernel with a
	// redirect (mode P): From is the host path of its content.
	Redirect  bool
	Sensitive *sensitive.Mark // nil for nearly all
	// Ignored is the ignore rule that leaves the change out, nil for most. A
	// scan does not ask for it.
	Ignored *ignore.Reason
	// Base says what is known about the host's version at the time of the
	// copy-up: BaseSame, BaseKnown or BaseUnknown.
	Base string
	// Conflict says that the host changed too, in another way, and that nobody
	// knows how the two go together. With BaseKnown, whoever reads the three
	// versions may find that they merge, and takes it off.
	Conflict bool
	// Git is set on the row of a git directory that stands for all that changed
	// in it. A scan lists files; package repo makes such rows of them.
	Git *Git
	// Inside is the git directory that this row is a part of, where its files
	// are listed one by one.
	Inside string
}

// Set is a change set in order of Path (bytewise).
type Set struct {
	Changes []Change
	// Unreadable lists directories whose names could not be read, because a
	// program took the permission away or the host never gave it: changes
	// below them are missing here. In order.
	Unreadable []string

	tree Tree // where the rows come from, for Count
}
