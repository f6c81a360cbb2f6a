package termsafe

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscapes(t *testing.T) {
	for _, c := range []struct{ what, in, text, name string }{
		{"plain", "main.go", "main.go", "main.go"},
		{"other scripts stay", "日本語/ü.md 👩‍👩‍👧", "日本語/ü.md 👩‍👩‍👧", "日本語/ü.md 👩‍👩‍👧"},
		{"newline and tab", "a\tb\nc", "a\tb\nc", `a\tb\nc`},
		{"carriage return", "safe\revil\r\n", "safe\\revil\\r\n", `safe\revil\r\n`},
		{"clipboard", "\x1b]52;c;ZXZpbA==\x07", `\x1b]52;c;ZXZpbA==\x07`, `\x1b]52;c;ZXZpbA==\x07`},
		{"C0", "\x00\x01\x08\x0b\x0c\x1f", `\x00\x01\x08\x0b\x0c\x1f`, `\x00\x01\x08\x0b\x0c\x1f`},
		{"DEL", "a\x7fb", `a\x7fb`, `a\x7fb`},
		{"C1 as a character", "\u009b31m\u0085", `\u009b31m\u0085`, `\u009b31m\u0085`},
		{"C1 as a byte", "\x9b31m", `\x9b31m`, `\x9b31m`},
		{"latin-1", "caf\xe9", `caf\xe9`, `caf\xe9`},
		{"cut short", "a\xe2\x80", `a\xe2\x80`, `a\xe2\x80`},
		{"overlong", "\xc0\x9b", `\xc0\x9b`, `\xc0\x9b`},
		{"surrogate", "\xed\xa0\x80", `\xed\xa0\x80`, `\xed\xa0\x80`},
		{"replacement character itself", "\ufffd", "\ufffd", "\ufffd"},
		{"bidi", "\u202aa\u202e\u2066\u2069\u200e\u200f\u061c", `\u202aa\u202e\u2066\u2069\u200e\u200f\u061c`, `\u202aa\u202e\u2066\u2069\u200e\u200f\u061c`},
		{"separators", "a\u2028b\u2029", `a\u2028b\u2029`, `a\u2028b\u2029`},
		{"no width", "a\ufeffb\u200b", `a\ufeffb\u200b`, `a\ufeffb\u200b`},
		{"tags", "a\U000E0041", `a\U000e0041`, `a\U000e0041`},
		{"empty", "", "", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := Text(c.in); got != c.text {
				t.Errorf("Text(%q) = %q, want %q", c.in, got, c.text)
			}
			if got := Name(c.in); got != c.name {
				t.Errorf("Name(%q) = %q, want %q", c.in, got, c.name)
			}
		})
	}
}

// harmless is the promise, said without the package's own tables.
func harmless(s string, text bool) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if text && (r == '\n' || r == '\t') {
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return false
		}
	}
	return true
}

func FuzzEscapes(f *testing.F) {
	f.Add([]byte("a\x1b[31m\u202e\xff\n\t\r"), 3)
	f.Add([]byte("日本語\xe2\x80"), 4)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		s := string(in)
		if got := Name(s); !harmless(got, false) {
			t.Fatalf("Name(%q) = %q", s, got)
		}
		want := Text(s)
		if !harmless(want, true) {
			t.Fatalf("Text(%q) = %q", s, want)
		}
		if harmless(s, true) && !strings.ContainsAny(s, "\u2028\u2029\u200b\u2060\ufeff\ufff9\ufffa\ufffb") &&
			!strings.ContainsFunc(s, func(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }) && want != s {
			t.Fatalf("Text(%q) changed harmless text to %q", s, want)
		}
		// Wherever the stream is cut, the result is the same.
		var b bytes.Buffer
		w := NewWriter(&b)
		at := min(max(cut, 0), len(in))
		for _, part := range [][]byte{in[:at], in[at:]} {
			if n, err := w.Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Fatalf("cut at %d: %q, want %q", at, b.String(), want)
		}
	})
}
