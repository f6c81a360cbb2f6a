package diff

import (
	"bytes"

	znkr "znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// edit is one maximal run of changed lines: host lines [h0, h1) become sandbox
// lines [s0, s1), counted from 0.
type edit struct{ h0, h1, s0, s1 int }

// index holds the offset of each line's first byte, and the length of the text
// at the end.
type index []int

func indexLines(norm []byte) index {
	idx := make(index, 1, bytes.Count(norm, []byte{'\n'})+1)
	for at := 0; at < len(norm); {
		n := bytes.IndexByte(norm[at:], '\n')
		if n < 0 {
			n = len(norm) - at - 1
		}
		at += n + 1
		idx = append(idx, at)
	}
	return idx
}

// lines counts the lines.
func (x index) lines() int { return len(x) - 1 }

// cut returns the bytes of lines [from, to), line ends included.
func (x index) cut(norm []byte, from, to int) []byte { return norm[x[from]:x[to]] }

// fineLines is how many lines of both sides together, without the common first
// and last ones, get the fine cut. The library needs 25 µs a line at worst
// (lines that are few and shuffled; 5 s here); beyond it, it aligns only at
// lines that occur once on each side, in time that no text can stretch.
const fineLines = 200_000

// compareLines finds the runs of lines in which two texts differ. A line is
// all up to and with its LF. It is cut finely up to a number of lines.
func compareLines(host, sandbox []byte, hostIdx, sandboxIdx index, fine int) []edit {
	if bytes.Equal(host, sandbox) {
		return nil
	}
	if len(host) == 0 || len(sandbox) == 0 {
		return []edit{{h1: hostIdx.lines(), s1: sandboxIdx.lines()}}
	}
	middle := onlyTheMiddle(host, sandbox, hostIdx, sandboxIdx)
	coarse := middle.h1-middle.h0+middle.s1-middle.s0 > fine
	edits, ok := runDiffer(host, sandbox, coarse)
	if !ok || !consistent(edits, host, sandbox, hostIdx, sandboxIdx) {
		return []edit{middle}
	}
	return edits
}

// runDiffer asks the library. The texts come from programs that nobody
// trusts and the library is young: a panic in it must cost the fine cut of
// one file, not the whole review.
func runDiffer(host, sandbox []byte, coarse bool) (edits []edit, ok bool) {
	defer func() {
		if recover() != nil {
			edits, ok = nil, false
		}
	}()
	options := []znkr.Option{znkr.Context(0), textdiff.IndentHeuristic()}
	if coarse {
		options = append(options, znkr.Fast())
	}
	found := textdiff.Hunks(host, sandbox, options...)
	edits = make([]edit, len(found))
	for i, h := range found {
		edits[i] = edit{h.LineNoX, h.EndLineNoX, h.LineNoY, h.EndLineNoY}
	}
	return edits, true
}

// consistent checks what Apply's law stands on: the lines between the edits
// are the same bytes on both sides, and no two edits touch.
func consistent(edits []edit, host, sandbox []byte, hostIdx, sandboxIdx index) bool {
	h, s := 0, 0
	for i, e := range edits {
		if e.h0 < h || e.s0 < s || e.h1 < e.h0 || e.s1 < e.s0 ||
			e.h1 > hostIdx.lines() || e.s1 > sandboxIdx.lines() ||
			(i > 0 && e.h0 == h && e.s0 == s) ||
			!bytes.Equal(hostIdx.cut(host, h, e.h0), sandboxIdx.cut(sandbox, s, e.s0)) {
			return false
		}
		h, s = e.h1, e.s1
	}
	return bytes.Equal(host[hostIdx[h]:], sandbox[sandboxIdx[s]:])
}

// onlyTheMiddle is the coarsest right answer: one edit between the common
// first and the common last lines.
func onlyTheMiddle(host, sandbox []byte, hostIdx, sandboxIdx index) edit {
	e := edit{h1: hostIdx.lines(), s1: sandboxIdx.lines()}
	for e.h0 < e.h1 && e.s0 < e.s1 &&
		bytes.Equal(hostIdx.cut(host, e.h0, e.h0+1), sandboxIdx.cut(sandbox, e.s0, e.s0+1)) {
		e.h0, e.s0 = e.h0+1, e.s0+1
	}
	for e.h0 < e.h1 && e.s0 < e.s1 &&
		bytes.Equal(hostIdx.cut(host, e.h1-1, e.h1), sandboxIdx.cut(sandbox, e.s1-1, e.s1)) {
		e.h1, e.s1 = e.h1-1, e.s1-1
	}
	return e
}
