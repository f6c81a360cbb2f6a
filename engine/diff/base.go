package diff

import (
	"bytes"

	"sandbox/engine/entry"
)

// CompareBase is Compare for a path that the host changed too since the sandbox
// took its copy, the base: the hunks are what the sandbox changed, mapped onto
// the host's version of now. What only the host changed, and what both changed
// alike, is no hunk. What both changed differently at one place is one hunk
// with Conflict set: taking it puts the sandbox's version over the host's edit.
//
// With a host that equals the base the hunks are those of Compare. A base that
// is missing means that both sides made the path: all differences are
// conflicts. Apply takes such hunks like others; Revert drops them.
func CompareBase(path string, host, sandbox, base Side) []Hunk {
	switch {
	case equal(sandbox, base):
		return nil
	case equal(host, base):
		return Compare(path, host, sandbox)
	case host.Type != sandbox.Type || host.Type != base.Type:
		return allConflicts(Compare(path, host, sandbox))
	}
	var hunks []Hunk
	attribute := func(kind Kind, from, to string) Hunk {
		h := Hunk{Kind: kind, Old: from, New: to}
		h.ID = attributeID(path, h, host, sandbox)
		return h
	}
	if host.Type != entry.Symlink {
		hunks = choose(hunks, base.Mode, host.Mode, sandbox.Mode, func() Hunk {
			return attribute(Mode, modeText(host), modeText(sandbox))
		})
	}
	switch {
	case host.Type == entry.Symlink:
		hunks = choose(hunks, base.Target, host.Target, sandbox.Target, func() Hunk {
			return attribute(SymlinkMoved, host.Target, sandbox.Target)
		})
	case host.Type != entry.File:
	case bytes.Equal(sandbox.Data, base.Data), bytes.Equal(sandbox.Data, host.Data):
	case textPair(host, sandbox) && notText(base.Data) == "":
		hunks = append(hunks, compareTexts(path, host, sandbox, base, attribute)...)
	default:
		h := attribute(Binary, contentText(host.Data), contentText(sandbox.Data))
		h.Conflict = !bytes.Equal(host.Data, base.Data)
		hunks = append(hunks, h)
	}
	return hunks
}

// equal reports whether two versions are the same in all that Compare shows.
func equal(a, b Side) bool {
	if missing(a) || missing(b) {
		return missing(a) && missing(b)
	}
	return a.Type == b.Type && (a.Mode == b.Mode || a.Type == entry.Symlink) && a.Target == b.Target && bytes.Equal(a.Data, b.Data)
}

func allConflicts(hunks []Hunk) []Hunk {
	for i := range hunks {
		hunks[i].Conflict = true
	}
	return hunks
}

// choose adds the hunk of a value that the sandbox changed.
func choose[V comparable](hunks []Hunk, base, host, sandbox V, hunk func() Hunk) []Hunk {
	if sandbox == base || sandbox == host {
		return hunks
	}
	h := hunk()
	h.Conflict = host != base
	return append(hunks, h)
}

// texts are three versions of a text, taken apart in one way.
type texts struct {
	host, sandbox, base text
	ends                bool // line ends are compared apart from the lines
}

func takeThreeApart(host, sandbox, base []byte) texts {
	var t texts
	t.host, t.sandbox, t.ends = decompose(host, sandbox)
	t.base = takeApart(base, styleOf(base), t.ends)
	if t.ends && t.base.style == mixed { // only the base mixes its line ends
		t.base.norm = bytes.ReplaceAll(t.base.norm, []byte("\r\n"), []byte{'\n'})
	}
	return t
}

func compareTexts(path string, host, sandbox, base Side, attribute func(Kind, string, string) Hunk) []Hunk {
	t := takeThreeApart(host.Data, sandbox.Data, base.Data)
	h, s, b := t.host, t.sandbox, t.base
	var hunks []Hunk
	hunks = choose(hunks, b.bom, h.bom, s.bom, func() Hunk { return attribute(BOM, bomText(h.bom), bomText(s.bom)) })
	if t.ends && h.style != noEnds && s.style != noEnds {
		hunks = choose(hunks, b.style, h.style, s.style, func() Hunk {
			return attribute(EOL, h.style.String(), s.style.String())
		})
	}
	lines, _ := t.mapLines(path)
	hunks = append(hunks, lines...)
	hl, sl := h.lines(), s.lines()
	if hl > 0 && sl > 0 {
		final := b.final
		if b.lines() == 0 {
			final = h.final // an empty base says nothing about it
		}
		hunks = choose(hunks, final, h.final, s.final, func() Hunk {
			hunk := attribute(FinalNewline, finalText(h.final), finalText(s.final))
			hunk.Host, hunk.Sandbox = Range{hl, 0}, Range{sl, 0}
			return hunk
		})
	}
	return hunks
}

// mapLines gives the line hunks, and all regions, of which those that are no
// hunk have the hunk number -1.
func (t texts) mapLines(path string) ([]Hunk, []spot) {
	host, sandbox, base := t.host.norm, t.sandbox.norm, t.base.norm
	hostIdx, sandboxIdx, baseIdx := indexLines(host), indexLines(sandbox), indexLines(base)
	toHost := compareLines(base, host, baseIdx, hostIdx, fineLines)
	toSandbox := compareLines(base, sandbox, baseIdx, sandboxIdx, fineLines)
	var edits []edit
	var conflict []bool
	var all []spot
	for _, r := range regions(toHost, toSandbox) {
		n := spot{region: r, hunk: -1}
		if r.sandbox && !bytes.Equal(hostIdx.cut(host, r.h0, r.h1), sandboxIdx.cut(sandbox, r.s0, r.s1)) {
			n.hunk = len(edits)
			edits = append(edits, edit{r.h0, r.h1, r.s0, r.s1})
			conflict = append(conflict, r.host)
		}
		all = append(all, n)
	}
	hunks := lineHunks(path, edits, host, sandbox, hostIdx, sandboxIdx)
	for i := range hunks {
		hunks[i].Conflict = conflict[i]
	}
	return hunks, all
}

// spot is a region and the number of its hunk.
type spot struct {
	region
	hunk int
}
