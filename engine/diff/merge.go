package diff

// region is one run of lines in which host or sandbox differ from the base:
// base lines [b0, b1) are host lines [h0, h1) and sandbox lines [s0, s1).
type region struct {
	b0, b1, h0, h1, s0, s1 int
	// host and sandbox say who changed it; both: the two changes overlap or touch.
	host, sandbox bool
}

// regions lays the two sets of edits, base to host and base to sandbox, over
// each other. Edits that overlap or touch in the base are one region: what two
// people wrote at one place nobody can put in order. The regions are in order,
// and between them all three texts are the same.
func regions(toHost, toSandbox []edit) []region {
	var out []region
	var h, s int   // edits passed
	var dh, ds int // how far host and sandbox lines are ahead of the base's there
	for h < len(toHost) || s < len(toSandbox) {
		// The leftmost edit begins a region, and takes in all that touches it.
		r := region{}
		switch {
		case s == len(toSandbox) || h < len(toHost) && toHost[h].h0 <= toSandbox[s].h0:
			r.b0, r.b1 = toHost[h].h0, toHost[h].h0
		default:
			r.b0, r.b1 = toSandbox[s].h0, toSandbox[s].h0
		}
		r.h0, r.s0 = r.b0+dh, r.b0+ds
		for grown := true; grown; {
			grown = false
			for ; h < len(toHost) && toHost[h].h0 <= r.b1; h++ {
				e := toHost[h]
				r.b1, r.host, grown = max(r.b1, e.h1), true, true
				dh = e.s1 - e.h1
			}
			for ; s < len(toSandbox) && toSandbox[s].h0 <= r.b1; s++ {
				e := toSandbox[s]
				r.b1, r.sandbox, grown = max(r.b1, e.h1), true, true
				ds = e.s1 - e.h1
			}
		}
		r.h1, r.s1 = r.b1+dh, r.b1+ds
		out = append(out, r)
	}
	return out
}

// Merge brings what the sandbox changed since the base to the host's version,
// which was changed meanwhile too. It is clean, and the result is a version
// that holds both, when no change of the one overlaps or touches a different
// one of the other, the mode, line ends, BOM and final newline included. The
// two sides can be exchanged. When it is not clean the result is the host's
// version.
func Merge(base, host, sandbox Side) (merged Side, clean bool) {
	hunks := CompareBase("", host, sandbox, base)
	for _, h := range hunks {
		if h.Conflict {
			return host, false
		}
	}
	merged, err := Apply(host, sandbox, hunks, func(Hunk) bool { return true })
	if err != nil { // the hunks are of these very sides
		return host, false
	}
	return merged, true
}
