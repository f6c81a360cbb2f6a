package diff

import (
	"bytes"
	"fmt"

	"sandbox/engine/entry"
)

// Compare cuts the difference between the two versions of path into hunks.
//
// A path that is created, deleted or of another type is one hunk and nothing
// beside it. A regular file is text unless it has a NUL in its first 8000
// bytes, starts with a UTF-16 byte order mark, or is beyond MaxTextBytes,
// MaxTextLines or MaxLineBytes; a pair of which one side is not text has one
// Binary hunk for its content. The order is: mode, symlink or binary or BOM
// and EOL, line hunks from top to bottom, final newline.
//
// The hunks share memory with the sides' Data.
func Compare(path string, host, sandbox Side) []Hunk {
	whole := func(kind Kind, from, to string) Hunk {
		h := Hunk{Kind: kind, Old: from, New: to}
		h.ID = attributeID(path, h, host, sandbox)
		return h
	}
	switch {
	case host.Type == sandbox.Type:
	case missing(host) && missing(sandbox):
		return nil
	case missing(host):
		h := whole(Created, "", modeText(sandbox))
		h.Lines, h.Sandbox = allLines("+", sandbox)
		return []Hunk{h}
	case missing(sandbox):
		h := whole(Deleted, modeText(host), "")
		h.Lines, h.Host = allLines("-", host)
		return []Hunk{h}
	default:
		return []Hunk{whole(TypeChange, string(host.Type), string(sandbox.Type))}
	}

	var hunks []Hunk
	if host.Type != entry.Symlink && host.Mode != sandbox.Mode {
		hunks = append(hunks, whole(Mode, modeText(host), modeText(sandbox)))
	}
	switch {
	case host.Type == entry.Symlink && host.Target != sandbox.Target:
		hunks = append(hunks, whole(SymlinkMoved, host.Target, sandbox.Target))
	case host.Type != entry.File || bytes.Equal(host.Data, sandbox.Data):
	case !textPair(host, sandbox):
		hunks = append(hunks, whole(Binary, contentText(host.Data), contentText(sandbox.Data)))
	default:
		hunks = append(hunks, compareText(path, host, sandbox, whole)...)
	}
	return hunks
}

func compareText(path string, host, sandbox Side, attribute func(Kind, string, string) Hunk) []Hunk {
	var hunks []Hunk
	h, s, ends := decompose(host.Data, sandbox.Data)
	if h.bom != s.bom {
		hunks = append(hunks, attribute(BOM, bomText(h.bom), bomText(s.bom)))
	}
	if ends && h.style != s.style && h.style != noEnds && s.style != noEnds {
		hunks = append(hunks, attribute(EOL, h.style.String(), s.style.String()))
	}
	hostIdx, sandboxIdx := indexLines(h.norm), indexLines(s.norm)
	edits := compareLines(h.norm, s.norm, hostIdx, sandboxIdx, fineLines)
	hunks = append(hunks, lineHunks(path, edits, h.norm, s.norm, hostIdx, sandboxIdx)...)
	if hostIdx.lines() > 0 && sandboxIdx.lines() > 0 && h.final != s.final {
		hunk := attribute(FinalNewline, finalText(h.final), finalText(s.final))
		hunk.Host, hunk.Sandbox = Range{hostIdx.lines(), 0}, Range{sandboxIdx.lines(), 0}
		hunks = append(hunks, hunk)
	}
	return hunks
}

// lineHunks makes a hunk of each edit.
func lineHunks(path string, edits []edit, host, sandbox []byte, hostIdx, sandboxIdx index) []Hunk {
	hunks := make([]Hunk, len(edits))
	ids := lineIDs(path, edits, host, sandbox, hostIdx, sandboxIdx)
	for i, e := range edits {
		lines := make([]Line, 0, e.h1-e.h0+e.s1-e.s0)
		lines = appendLines(lines, "-", host, hostIdx, e.h0, e.h1)
		lines = appendLines(lines, "+", sandbox, sandboxIdx, e.s0, e.s1)
		hunks[i] = Hunk{ID: ids[i], Kind: Lines, Host: rangeOf(e.h0, e.h1), Sandbox: rangeOf(e.s0, e.s1), Lines: lines}
	}
	return hunks
}

// rangeOf turns lines [from, to) counted from 0 into a Range.
func rangeOf(from, to int) Range {
	if from == to {
		return Range{from, 0}
	}
	return Range{from + 1, to - from}
}

// span is the inverse of rangeOf.
func (r Range) span() (from, to int) {
	if r[1] == 0 {
		return r[0], r[0]
	}
	return r[0] - 1, r[0] - 1 + r[1]
}

func appendLines(lines []Line, op string, norm []byte, idx index, from, to int) []Line {
	for i := from; i < to; i++ {
		lines = append(lines, Line{Op: op, Text: norm[idx[i] : idx[i+1]-1]})
	}
	return lines
}

// allLines gives a created or deleted text file's lines, so that it can be shown.
func allLines(op string, side Side) ([]Line, Range) {
	if side.Type != entry.File || notText(side.Data) != "" {
		return nil, Range{}
	}
	t := takeApart(side.Data, styleOf(side.Data), true)
	idx := indexLines(t.norm)
	n := idx.lines()
	return appendLines(make([]Line, 0, n), op, t.norm, idx, 0, n), rangeOf(0, n)
}

func missing(s Side) bool { return s.Type == entry.None || s.Type == "" }

// typeBits are the S_IFMT bits that git and stat print in front of a mode.
var typeBits = map[entry.Type]uint32{
	entry.File: 0o100000, entry.Dir: 0o040000, entry.Symlink: 0o120000, entry.Fifo: 0o010000,
	entry.Socket: 0o140000, entry.Char: 0o020000, entry.Block: 0o060000,
}

func modeText(s Side) string {
	mode := s.Mode & 0o7777
	if s.Type == entry.Symlink {
		mode = 0
	}
	return fmt.Sprintf("%06o", typeBits[s.Type]|mode)
}

func contentText(data []byte) string {
	if reason := notText(data); reason != "" {
		return fmt.Sprintf("not text (%s), %d bytes", reason, len(data))
	}
	return fmt.Sprintf("text, %d bytes", len(data))
}

func bomText(has bool) string {
	if has {
		return "BOM"
	}
	return "no BOM"
}

func finalText(has bool) string {
	if has {
		return "newline at end"
	}
	return "no newline at end"
}
