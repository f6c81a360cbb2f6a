package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sandbox/engine/entry"
)

func TestCount(t *testing.T) {
	nothing := Side{Type: entry.None}
	link := Side{Type: entry.Symlink, Target: "x"}
	for _, c := range []struct {
		what           string
		host, sandbox  Side
		added, removed int
	}{
		{"same", file("a\n"), file("a\n"), 0, 0},
		{"same binary", file("a\x00"), file("a\x00"), 0, 0},
		{"one line", file("a\nb\nc\n"), file("a\nX\nc\n"), 1, 1},
		{"created", nothing, file("a\nb\n"), 2, 0},
		{"created without final newline", nothing, file("a\nb"), 2, 0},
		{"created empty", nothing, file(""), 0, 0},
		{"created binary", nothing, file("\x00"), -1, -1},
		{"created with BOM only", nothing, file("\xef\xbb\xbf"), 0, 0},
		{"deleted", file("a\r\nb\r\n"), nothing, 0, 2},
		{"emptied", file("a\nb\n"), file(""), 0, 2},
		{"filled", file(""), file("\n"), 1, 0},
		{"line ends only", file("a\nb\n"), file("a\r\nb\r\n"), 0, 0},
		{"text to binary", file("a\n"), file("\x00"), -1, -1},
		{"link to file", link, file("a\n"), 1, 0},
		{"file to link", file("a\n"), link, 0, 1},
		{"directory", Side{Type: entry.Dir}, nothing, 0, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			if a, r := Count(c.host, c.sandbox); a != c.added || r != c.removed {
				t.Errorf("+%d -%d, want +%d -%d", a, r, c.added, c.removed)
			}
		})
	}
}

func TestCountAgreesWithTheHunks(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		host, sandbox := randomPair(rng)
		added, removed := 0, 0
		for _, h := range Compare("/p", host, sandbox) {
			if h.Kind == Binary { // a random file may look like UTF-16
				added, removed = -1, -1
			}
			for _, l := range h.Lines {
				if l.Op == "+" {
					added++
				} else {
					removed++
				}
			}
		}
		if a, r := Count(host, sandbox); a != added || r != removed {
			t.Fatalf("+%d -%d, hunks have +%d -%d\n%q\n%q", a, r, added, removed, host.Data, sandbox.Data)
		}
	}
}

func numbered(n int, prefix string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", prefix, i)
	}
	return b.String()
}

func TestSimilarity(t *testing.T) {
	hundred := numbered(100, "line")
	big := numbered(20000, "some longer line of a generated file")
	rep := strings.Repeat("same\nother\n", 5000)
	for _, c := range []struct {
		what     string
		a, b     string
		from, to float64
	}{
		{"equal", hundred, hundred, 1, 1},
		{"both empty", "", "", 1, 1},
		{"empty and text", "", "a\n", 0, 0},
		{"nothing in common", "a\nb\n", "c\nd\n", 0, 0},
		{"half", "a\nb\n", "a\nc\n", 0.5, 0.5},
		{"one of a hundred lines", hundred, strings.Replace(hundred, "line 50\n", "x\n", 1), 0.98, 0.9999},
		{"line ends only", hundred, strings.ReplaceAll(hundred, "\n", "\r\n"), 0.99, 0.9999},
		{"final newline only", "hello", "hello\n", 0.99, 0.9999},
		{"BOM only", "\xef\xbb\xbf", "", 0, 0},
		{"moved block", "a\nb\nc\n" + hundred, hundred + "a\nb\nc\n", 0.95, 0.9999},
		{"large, one line", big, "first\n" + big + "last\n", 0.99, 0.9999},
		{"large, ends differ", "x\n" + big + "y\n", "z\n" + big + "w\n", 0.99, 0.9999},
		// go-difflib's autojunk drops both lines here and finds nothing.
		{"repetitive", "x\n" + rep + "y\n", "z\n" + rep + "other\n", 0.99, 0.9999},
		{"binary", "a\x00b\nc\n", "a\x00b\nd\n", 0.6, 0.7},
	} {
		t.Run(c.what, func(t *testing.T) {
			got := Similarity([]byte(c.a), []byte(c.b))
			if got < c.from || got > c.to {
				t.Errorf("%v, want %v to %v", got, c.from, c.to)
			}
			if back := Similarity([]byte(c.b), []byte(c.a)); (back == 1) != (got == 1) || (back == 0) != (got == 0) {
				t.Errorf("the other way round %v", back)
			}
		})
	}
}

func TestEmphasis(t *testing.T) {
	for _, c := range []struct {
		what     string
		old, new string
		want     string // changed parts in brackets, old line then new line
	}{
		{"a word", "x := foo(1)", "x := bar(1)", "x := [foo](1)|x := [bar](1)"},
		{"inserted", "f(a)", "f(a, b)", "f(a)|f(a[, b])"},
		{"deleted", "f(a, b)", "f(a)", "f(a[, b])|f(a)"},
		{"two places", "one two three", "1 two 3", "[one] two [three]|[1] two [3]"},
		{"indent", "  return x", "\treturn x", "[  ]return x|[\t]return x"},
		{"no character is cut", "größe = 1", "größen = 1", "[größe] = 1|[größen] = 1"},
		{"latin-1", "caf\xe9 = 1", "caf\xe8 = 1", "[caf\xe9] = 1|[caf\xe8] = 1"},
		{"equal", "same", "same", "same|same"},
		{"nothing in common", "abc", "xyz", "abc|xyz"},
		{"empty", "", "", "|"},
		{"from empty", "", "abc", "|abc"},
	} {
		t.Run(c.what, func(t *testing.T) {
			o, n := Emphasis([]byte(c.old), []byte(c.new))
			if got := bracket(c.old, o) + "|" + bracket(c.new, n); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if o, n := Emphasis([]byte(strings.Repeat("a b ", 5000)), []byte("a")); o != nil || n != nil {
		t.Error("a line of 20 kB was compared word by word")
	}
}

func bracket(line string, spans [][2]int) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(line[at:s[0]] + "[" + line[s[0]:s[1]] + "]")
		at = s[1]
	}
	return b.String() + line[at:]
}

func FuzzEmphasis(f *testing.F) {
	f.Add([]byte("x := foo(1)"), []byte("x := bar(1)"))
	f.Add([]byte("größe"), []byte("gr\xf6\xdfe "))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		o, n := Emphasis(a, b)
		if keep(a, o) != keep(b, n) && (o != nil || n != nil) {
			t.Fatalf("what is left differs: %q %q", keep(a, o), keep(b, n))
		}
	})
}

func keep(line []byte, spans [][2]int) string {
	var kept []byte
	at := 0
	for _, s := range spans {
		kept = append(kept, line[at:s[0]]...)
		at = s[1]
	}
	return string(append(kept, line[at:]...))
}
