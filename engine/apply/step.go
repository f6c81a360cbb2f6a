package apply

import (
	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/view"
)

// verb is what one step does.
type verb string

const (
	doMake   verb = "make"       // an entry comes to Path, over what is there
	doRemove verb = "remove"     // Path goes, a directory with all that is in it
	doMove   verb = "move"       // From becomes Path, where nothing is
	doAttr   verb = "attributes" // mode, owner, xattrs, mtime of Path
	doShow   verb = "show"       // reject: what the host has is seen again
	doUnmove verb = "unmove"     // reject: Path, a directory that was From and renamed by redirect, goes
)

// step is one change of the host (accept) or of the sandbox's view (reject).
// All that is needed to take it back is in the journal before it is done.
type step struct {
	Do     verb        `json:"do"`
	Path   pathText    `json:"path"`
	From   pathText    `json:"from,omitempty"`
	Type   entry.Type  `json:"type,omitempty"`   // of what is made
	Target pathText    `json:"target,omitempty"` // of a symlink that is made
	Rdev   uint64      `json:"rdev,omitempty"`
	Before entry.Print `json:"before,omitempty"` // "" for what is not compared
	After  entry.Print `json:"after,omitempty"`
	// Link is the path of an earlier step: the sandbox has both as one file.
	Link pathText `json:"link,omitempty"`
	// Was tells the entry that the step finds from all others.
	Was node `json:"was,omitzero"`
	// WasMode is the mode of a directory that goes.
	WasMode uint32 `json:"was_mode,omitempty"`
	// Old and New are the metadata before and after.
	Old *view.Meta `json:"old,omitempty"`
	New *view.Meta `json:"new,omitempty"`
	// Loose says that no decision was bound to the content: a program in the
	// sandbox may write on, and After is what was read at last.
	Loose bool `json:"loose,omitempty"`
	// Staged is what the index that was made stages. One that git refreshed since
	// stages the same, and counts as the one that was made.
	Staged string `json:"staged,omitempty"`
	// Implied marks a directory that was not chosen itself.
	Implied bool `json:"implied,omitempty"`

	tried  bool  // it was begun, says the log
	begun  bool  // it was begun by this process
	made   node  // the entry that it made
	size   int64 // of what Was is
	mtime  int64
	index  bool                   // what is made is the index of a git repository
	rank   int                    // those of a higher rank wait for all of a lower one
	source source                 // of a file that is made
	tree   map[string]entry.Entry // what a directory that goes holds, by path
	change changes.Kind
}

// source is where the content of a file comes from: an upper entry, a host
// entry, or bytes.
type source struct {
	upper string // a path in the sandbox
	host  string
	data  []byte
	bytes bool
}
