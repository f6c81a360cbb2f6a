package diff

// Revert returns the sandbox's version without the hunks that drop chooses: in
// their places it is as the host's is. The hunks are what Compare or CompareBase
// gave for the same two sides. What only the host changed (CompareBase) does
// not come along.
func Revert(host, sandbox Side, hunks []Hunk, drop func(Hunk) bool) (Side, error) {
	turned := make([]Hunk, 0, len(hunks))
	for _, h := range hunks {
		if drop(h) {
			turned = append(turned, turn(h))
		}
	}
	return Apply(sandbox, host, turned, func(Hunk) bool { return true })
}

// turn exchanges the sides of a hunk.
func turn(h Hunk) Hunk {
	h.Host, h.Sandbox = h.Sandbox, h.Host
	h.Old, h.New = h.New, h.Old
	switch h.Kind {
	case Created:
		h.Kind = Deleted
	case Deleted:
		h.Kind = Created
	}
	lines := make([]Line, len(h.Lines))
	for i, l := range h.Lines {
		lines[i] = Line{Op: map[string]string{"-": "+", "+": "-"}[l.Op], Text: l.Text}
	}
	h.Lines = lines
	return h
}
