package engine

import (
	"sandbox/engine/changes"
	"sandbox/engine/diff"
)

// Taken is what the host would have with all blocks taken: the sandbox's
// version, or, where the host changed the file too, the host's version with the
// sandbox's changes in it. A patch leads from Host to it.
func (f FileDiff) Taken() diff.Side {
	if f.Base != changes.BaseKnown {
		return f.Sandbox
	}
	taken, err := diff.Apply(f.Host, f.Sandbox, f.Hunks, diff.All)
	if err != nil { // the hunks are of these very sides
		return f.Sandbox
	}
	return taken
}
