// Package termsafe makes bytes from a sandbox safe to print on a terminal.
//
// File names, symlink targets and file contents are chosen by programs that
// nobody trusts. Printed as they are they can move the cursor over what was
// printed before, write the clipboard, or (bidirectional controls) show text in
// another order than it has. Here each byte or character that could do that
// becomes a visible escape: \x1b, \u202e, \xff.
//
// It is for people's eyes only: the result cannot be turned back, so JSON,
// piped diffs and everything that is read by a program must have the exact
// bytes instead.
package termsafe

import (
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// Name returns a name, target or message as one line: control characters,
// newline and tab too, are escaped.
func Name(s string) string {
	if clean(s, false) {
		return s
	}
	out, _ := escape(make([]byte, 0, len(s)+16), []byte(s), false, true)
	return string(out)
}

// Text returns text in which newlines and tabs stay and all other control
// characters are escaped. A carriage return is one of those: printed raw, it
// would let a line write over its own start.
func Text(s string) string {
	if clean(s, true) {
		return s
	}
	out, _ := escape(make([]byte, 0, len(s)+16), []byte(s), true, true)
	return string(out)
}

// clean spares the copy for nearly all strings.
func clean(s string, text bool) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7F || (c < 0x20 && (!text || (c != '\n' && c != '\t'))) {
			return false
		}
	}
	return true
}

// Writer passes text on to another writer as Text would return it. A
// character may be split between two writes; Flush writes what is left of one.
type Writer struct {
	w    io.Writer
	rest []byte // start of a character whose end was not seen yet
	buf  []byte
}

// NewWriter returns a Writer in front of w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write implements io.Writer.
func (t *Writer) Write(p []byte) (int, error) {
	in := p
	if len(t.rest) > 0 {
		in = slices.Concat(t.rest, p)
	}
	out, used := escape(t.buf[:0], in, true, false)
	t.buf = out
	t.rest = append([]byte(nil), in[used:]...)
	if _, err := t.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the start of a character that never ended.
func (t *Writer) Flush() error {
	out, _ := escape(nil, t.rest, true, true)
	t.rest = nil
	_, err := t.w.Write(out)
	return err
}

// escape appends the safe form of in to out and says how much of in it used:
// all, unless more may follow (not last) and in ends within a character.
func escape(out, in []byte, text, last bool) (result []byte, used int) {
	for used < len(in) {
		c := in[used]
		if c < utf8.RuneSelf {
			out = appendByte(out, c, text)
			used++
			continue
		}
		if !last && !utf8.FullRune(in[used:]) {
			break
		}
		r, size := utf8.DecodeRune(in[used:])
		switch {
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, c)
		case deceives(r) && r > 0xFFFF:
			out = fmt.Appendf(out, `\U%08x`, r)
		case deceives(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, in[used:used+size]...)
		}
		used += size
	}
	return out, used
}

func appendByte(out []byte, c byte, text bool) []byte {
	switch {
	case c == '\n' && !text:
		return append(out, `\n`...)
	case c == '\t' && !text:
		return append(out, `\t`...)
	case c == '\r':
		return append(out, `\r`...)
	case (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F:
		return fmt.Appendf(out, `\x%02x`, c)
	}
	return append(out, c)
}

// deceives reports whether a character beyond ASCII acts on the terminal or
// on the order of the text, or hides in it.
func deceives(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9F: // C1: some terminals take U+009B for ESC [
	case r == 0x061C, r == 0x200E, r == 0x200F: // marks of direction
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069: // embeddings, overrides, isolates
	case r == 0x2028, r == 0x2029: // line and paragraph separator
	case r == 0x200B, r == 0x2060, r == 0xFEFF: // no width at all
	case r >= 0xFFF9 && r <= 0xFFFB: // interlinear annotation
	case r >= 0xE0000 && r <= 0xE007F: // tags, invisible
	default:
		return false
	}
	return true
}
