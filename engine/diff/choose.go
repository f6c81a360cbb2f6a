package diff

import "sandbox/engine/fault"

// Select returns the hunks with the given ids, in the order of hunks. An id
// that no hunk has, or that more than one has, is a fault.Stale: the decision
// was made on another state of the file.
func Select(hunks []Hunk, ids []string) ([]Hunk, error) {
	count := make(map[string]int, len(hunks))
	for _, h := range hunks {
		count[h.ID]++
	}
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		switch count[id] {
		case 1:
			wanted[id] = true
		case 0:
			return nil, noBlock(id, "there is no such block now")
		default:
			return nil, noBlock(id, "the id names more than one block")
		}
	}
	var selected []Hunk
	for _, h := range hunks {
		if wanted[h.ID] {
			selected = append(selected, h)
		}
	}
	return selected, nil
}

func noBlock(id, reason string) error {
	return fault.New(fault.Stale, "find block", id, reason, lookAgain)
}

// Among is the choice, for Apply, of exactly these hunks.
func Among(selected []Hunk) func(Hunk) bool {
	ids := make(map[string]bool, len(selected))
	for _, h := range selected {
		ids[h.ID] = true
	}
	return func(h Hunk) bool { return ids[h.ID] }
}

// NotAmong is the choice, for Apply, of all hunks but these.
func NotAmong(selected []Hunk) func(Hunk) bool {
	among := Among(selected)
	return func(h Hunk) bool { return !among(h) }
}

// All is the choice of every hunk.
func All(Hunk) bool { return true }

// None is the choice of no hunk.
func None(Hunk) bool { return false }
