package engine

import (
	"context"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
)

// contested are the conflicts below deleted directories that a reject of other
// paths there leaves alone. It makes those directories anew, and with them the
// moment of the deletion is lost by which the conflicts are known.
func (b *box) contested(ctx context.Context, selected []apply.Selection) ([]string, error) {
	chosen := make(map[string]bool, len(selected))
	below := false
	for i := range selected {
		c := &selected[i].Change
		chosen[c.Path] = true
		below = below || c.Upper == "" && c.Kind == changes.Deleted || c.Kind == changes.Renamed
	}
	if !below {
		return nil, nil
	}
	set, err := changes.Scan(ctx, b.tree, scanOptions())
	if err != nil {
		return nil, err
	}
	apply.Settle(b.journal(), set.Changes)
	var out []string
	for i := range set.Changes {
		c := &set.Changes[i]
		if c.Conflict && !chosen[c.Path] && (c.Kind == changes.Deleted || c.Kind == changes.Renamed) {
			out = append(out, hostPath(*c))
		}
	}
	return out, nil
}
