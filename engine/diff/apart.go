package diff

import "sandbox/engine/entry"

// Apart gives the places where only the host changed lines since the base: the
// two versions differ there although CompareBase has no hunk. Whoever lays the
// two texts side by side needs them to keep the lines level. They are in order,
// and lie between the hunks.
func Apart(host, sandbox, base Side) [][2]Range {
	if host.Type != entry.File || sandbox.Type != entry.File || base.Type != entry.File ||
		!textPair(host, sandbox) || notText(base.Data) != "" {
		return nil
	}
	var out [][2]Range
	_, spots := takeThreeApart(host.Data, sandbox.Data, base.Data).mapLines("")
	for _, r := range spots {
		if r.hunk < 0 && !r.sandbox {
			out = append(out, [2]Range{rangeOf(r.h0, r.h1), rangeOf(r.s0, r.s1)})
		}
	}
	return out
}
