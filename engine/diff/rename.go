package diff

// Rename is the block that says that a file has another name in the sandbox. It
// stands beside the blocks of what else changed in the file, so that the new
// name and the edits can be taken apart. Compare does not give it: two sides do
// not know their names.
func Rename(from, to string) Hunk {
	h := Hunk{Kind: Renamed, Old: from, New: to}
	h.ID = attributeID(to, h, Side{}, Side{})
	return h
}
