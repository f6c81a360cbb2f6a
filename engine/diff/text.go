package diff

import (
	"bytes"
	"fmt"

	"sandbox/engine/entry"
)

// The limits of what is compared line by line. What is larger is taken whole,
// as a Binary hunk: nobody reads it block by block, and a program that nobody
// trusts chose its size.
const (
	MaxTextBytes = 32 << 20
	MaxTextLines = 2_000_000
	MaxLineBytes = 1 << 20
)

// sniffBytes is how far into a file a NUL makes it binary; git uses the same.
const sniffBytes = 8000

var utf8BOM = []byte{0xEF, 0xBB, 0xBF}

// notText says why data is not compared by lines; "" when it is.
func notText(data []byte) string {
	switch {
	case hasNUL(data):
		return "NUL byte"
	case isUTF16(data):
		return "UTF-16"
	case len(data) > MaxTextBytes:
		return fmt.Sprintf("larger than %d MiB", MaxTextBytes>>20)
	case bytes.Count(data, []byte{'\n'}) > MaxTextLines:
		return fmt.Sprintf("more than %d lines", MaxTextLines)
	case longestLine(data) > MaxLineBytes:
		return fmt.Sprintf("a line longer than %d MiB", MaxLineBytes>>20)
	}
	return ""
}

func hasNUL(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffBytes)], 0) >= 0
}

func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte{0xFF, 0xFE}) || bytes.HasPrefix(data, []byte{0xFE, 0xFF})
}

// looksBinary reports whether data is not text, whatever its size.
func looksBinary(data []byte) bool { return hasNUL(data) || isUTF16(data) }

// IsText reports whether data is compared line by line. The reason is "" or
// says in a few words why it is not.
func IsText(data []byte) (ok bool, reason string) {
	reason = notText(data)
	return reason == "", reason
}

func longestLine(data []byte) int {
	longest := 0
	for len(data) > longest {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			return max(longest, len(data))
		}
		longest = max(longest, i)
		data = data[i+1:]
	}
	return longest
}

// style is how the lines of a file end.
type style int

const (
	noEnds style = iota // no line end at all: at most one line, and that without an end
	lf
	crlf
	mixed
)

func (s style) String() string { return [...]string{"none", "LF", "CRLF", "mixed"}[s] }

// text is a file taken apart so that the parts can be chosen one by one.
type text struct {
	bom   bool
	style style
	final bool // the last line has a line end; meaningless without lines
	// norm is the body without BOM in which every line, the last one too, ends
	// with one LF. An empty file has no line; Neovim shows one empty line for
	// it and for "\n" alike, here they differ by one line.
	norm []byte
}

// lines counts the lines of t.
func (t text) lines() int { return bytes.Count(t.norm, []byte{'\n'}) }

// decompose takes both sides apart. Line ends are compared apart from the
// lines only where each side has one style (ends); if one side mixes them, a
// CR is part of its line on both sides. That is what Neovim shows: 'fileformat'
// is dos only for a file in which every line ends in CRLF.
func decompose(hostData, sandboxData []byte) (host, sandbox text, ends bool) {
	hostStyle, sandboxStyle := styleOf(hostData), styleOf(sandboxData)
	ends = hostStyle != mixed && sandboxStyle != mixed
	return takeApart(hostData, hostStyle, ends), takeApart(sandboxData, sandboxStyle, ends), ends
}

func styleOf(data []byte) style {
	all := bytes.Count(data, []byte{'\n'})
	switch bytes.Count(data, []byte("\r\n")) {
	case 0:
		if all == 0 {
			return noEnds
		}
		return lf
	case all:
		return crlf
	}
	return mixed
}

func takeApart(data []byte, s style, strip bool) text {
	body, bom := bytes.CutPrefix(data, utf8BOM)
	t := text{bom: bom, style: s, norm: body}
	t.final = bytes.HasSuffix(body, []byte{'\n'})
	if strip && s == crlf {
		t.norm = bytes.ReplaceAll(body, []byte("\r\n"), []byte{'\n'})
	}
	if len(body) > 0 && !t.final {
		// A full slice expression, so that the caller's array is not written to.
		t.norm = append(t.norm[:len(t.norm):len(t.norm)], '\n')
	}
	return t
}

// join is the inverse of takeApart.
func (t text) join() []byte {
	norm := t.norm
	if !t.final {
		norm = bytes.TrimSuffix(norm, []byte{'\n'})
	}
	if t.style == crlf {
		norm = bytes.ReplaceAll(norm, []byte{'\n'}, []byte("\r\n"))
	}
	if t.bom {
		return append(append(make([]byte, 0, len(utf8BOM)+len(norm)), utf8BOM...), norm...)
	}
	return norm
}

// textPair reports whether both sides are regular files compared by lines.
func textPair(host, sandbox Side) bool {
	return host.Type == entry.File && sandbox.Type == entry.File &&
		notText(host.Data) == "" && notText(sandbox.Data) == ""
}
