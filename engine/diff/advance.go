package diff

import "sandbox/engine/entry"

// Advance gives the base after a decision on hunks that CompareBase gave for
// these versions: what was taken is in the host's version now, so it belongs to
// the base too, and is no change of the sandbox any more. Without that the next
// comparison might lay the three texts over each other in another way, find
// what was taken once more, and take back what the user wrote beside it. A
// conflict that was dropped is the host's version in all three.
//
// took and dropped say which hunks were accepted and rejected.
func Advance(path string, base, host, sandbox Side, took, dropped func(Hunk) bool) Side {
	d := decided{took, dropped}
	hunks := CompareBase(path, host, sandbox, base)
	next, all := base, true
	for _, h := range hunks {
		all = all && took(h)
		from := d.side(h, host, sandbox, base)
		switch h.Kind {
		case Mode:
			next.Mode = from.Mode
		case Lines, BOM, EOL, FinalNewline:
		default: // the content as a whole
			next.Type, next.Data, next.Target = from.Type, from.Data, from.Target
		}
	}
	if all {
		return sandbox
	}
	if textPair(host, sandbox) && base.Type == entry.File && notText(base.Data) == "" {
		next.Data = takeThreeApart(host.Data, sandbox.Data, base.Data).advance(path, hunks, d)
	}
	return next
}

// decided is what became of hunks.
type decided struct{ took, dropped func(Hunk) bool }

// side is the version that counts where a hunk is.
func (d decided) side(h Hunk, host, sandbox, base Side) Side {
	switch {
	case d.took(h):
		return sandbox
	case h.Conflict && d.dropped(h):
		return host
	}
	return base
}

func (t texts) advance(path string, hunks []Hunk, d decided) []byte {
	out := t.base
	if out.style == mixed && t.ends {
		out.style = t.host.style
	}
	out.bom = both(t.base.bom, t.host.bom, t.sandbox.bom)
	out.style = both(out.style, t.host.style, t.sandbox.style)
	out.final = both(t.base.final, t.host.final, t.sandbox.final)
	for _, h := range hunks {
		from := t.base
		switch {
		case d.took(h):
			from = t.sandbox
		case h.Conflict && d.dropped(h):
			from = t.host
		}
		switch h.Kind {
		case BOM:
			out.bom = from.bom
		case EOL:
			out.style = from.style
		case FinalNewline:
			out.final = from.final
		}
	}
	if !t.ends {
		out.style = mixed // each line brings its own CR
	}
	out.norm = t.advanceLines(path, d)
	return out.join()
}

// both is the value that both sides agree on, else the base's.
func both[V comparable](base, host, sandbox V) V {
	if host == sandbox {
		return host
	}
	return base
}

func (t texts) advanceLines(path string, d decided) []byte {
	hunks, spots := t.mapLines(path)
	baseIdx, hostIdx, sandboxIdx := indexLines(t.base.norm), indexLines(t.host.norm), indexLines(t.sandbox.norm)
	var norm []byte
	at := 0
	for _, r := range spots {
		norm = append(norm, baseIdx.cut(t.base.norm, at, r.b0)...)
		at = r.b1
		alike := r.hunk < 0 && r.sandbox
		switch {
		case alike, r.hunk >= 0 && d.took(hunks[r.hunk]):
			norm = append(norm, sandboxIdx.cut(t.sandbox.norm, r.s0, r.s1)...)
		case r.hunk >= 0 && hunks[r.hunk].Conflict && d.dropped(hunks[r.hunk]):
			norm = append(norm, hostIdx.cut(t.host.norm, r.h0, r.h1)...)
		default:
			norm = append(norm, baseIdx.cut(t.base.norm, r.b0, r.b1)...)
		}
	}
	return append(norm, baseIdx.cut(t.base.norm, at, baseIdx.lines())...)
}
