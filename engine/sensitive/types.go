// Package sensitive is the catalogue of paths whose content runs code later or
// guards the user's identity.
package sensitive

// Level says what a blanket accept does with a path.
type Level string

// The levels.
const (
	LevelMark Level = "mark" // shown, and taken by a blanket accept
	LevelHold Level = "hold" // shown, skipped by a blanket accept unless named exactly or asked for
)

// Mark says why a path is sensitive.
type Mark struct {
	Level  Level  `json:"level"`
	Reason string `json:"reason"` // one clause, e.g. "runs at every shell start"
}
