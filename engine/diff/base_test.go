package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sandbox/engine/entry"
)

func TestMergeOfTexts(t *testing.T) {
	const base = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	tests := []struct {
		name, base, host, sandbox, want string
		clean                           bool
	}{
		{"far apart", base, "one\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "one\n2\n3\n4\n5\n6\n7\n8\nnine\n", true},
		{"one line between", base, "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\nfour\n5\n6\n7\n8\n9\n", "1\ntwo\n3\nfour\n5\n6\n7\n8\n9\n", true},
		{"the same line", base, "1\nzwei\n3\n4\n5\n6\n7\n8\n9\n", "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", "", false},
		{"touching", base, "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\nthree\n4\n5\n6\n7\n8\n9\n", "", false},
		{"the same change", base, "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n", "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n", true},
		{"inserted at one place", base, "1\na\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\nb\n2\n3\n4\n5\n6\n7\n8\n9\n", "", false},
		{"inserted at two places", base, "0\n" + base, base + "10\n", "0\n" + base + "10\n", true},
		{"deleted here, changed there", base, "1\n2\n3\n4\n5\n6\n7\n8\n", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "", false},
		{"deleted by both", base, "2\n3\n4\n5\n6\n7\n8\n9\n", "2\n3\n4\n5\n6\n7\n8\nnine\n", "2\n3\n4\n5\n6\n7\n8\nnine\n", true},
		{"line ends of the host", base, strings.ReplaceAll(base, "\n", "\r\n"), "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", "1\r\ntwo\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n", true},
		{"line ends of the sandbox", base, "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n", strings.ReplaceAll(base, "\n", "\r\n"), "1\r\ntwo\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n", true},
		{"CRLF stays", "a\r\nb\r\nc\r\nd\r\n", "A\r\nb\r\nc\r\nd\r\n", "a\r\nb\r\nc\r\nD\r\n", "A\r\nb\r\nc\r\nD\r\n", true},
		{"mixed line ends", "a\r\nb\nc\r\nd\n", "A\r\nb\nc\r\nd\n", "a\r\nb\nc\r\nD\n", "A\r\nb\nc\r\nD\n", true},
		{"only the base mixes", "a\r\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n", "A\nb\nc\nD\n", true},
		{"no newline at the end", "1\n2\n3", "one\n2\n3", "1\n2\n3\n4", "one\n2\n3\n4", true},
		{"the host ends it", "1\n2\n3", "1\n2\n3\n", "one\n2\n3", "one\n2\n3\n", true},
		{"the sandbox ends it", "1\n2\n3", "one\n2\n3", "1\n2\n3\n", "one\n2\n3\n", true},
		{"BOM of the host", "1\n2\n3\n", "\xef\xbb\xbf1\n2\n3\n", "1\n2\nthree\n", "\xef\xbb\xbf1\n2\nthree\n", true},
		{"emptied here, changed there", base, "", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "", false},
		{"both filled an empty file", "", "a\n", "b\n", "", false},
		{"both filled it alike", "", "a\n", "a\n", "a\n", true},
		{"binary, only the sandbox", "a\x00b", "a\x00b", "a\x00c", "a\x00c", true},
		{"binary, both", "a\x00b", "b\x00b", "a\x00c", "", false},
		{"binary, both alike", "a\x00b", "a\x00c", "a\x00c", "a\x00c", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, h, s := file(tt.base), file(tt.host), file(tt.sandbox)
			got, clean := Merge(b, h, s)
			if clean != tt.clean || clean && string(got.Data) != tt.want {
				t.Errorf("clean %v: %q, want %v %q", clean, got.Data, tt.clean, tt.want)
			}
			if !clean && !bytes.Equal(got.Data, h.Data) {
				t.Errorf("not clean, and the host's version is %q", got.Data)
			}
			checkBaseLaw(t, b, h, s, 5)
		})
	}
}

func TestCompareBaseOfWholePaths(t *testing.T) {
	none := Side{Type: entry.None}
	link := func(to string) Side { return Side{Type: entry.Symlink, Target: to} }
	mode := func(m uint32) Side { s := file("x\n"); s.Mode = m; return s }
	tests := []struct {
		name                string
		base, host, sandbox Side
		want                string // kinds, conflicts with an exclamation mark
	}{
		{"only the host changed it", file("a\n"), file("b\n"), file("a\n"), ""},
		{"only the host deleted it", file("a\n"), none, file("a\n"), ""},
		{"deleted inside", file("a\n"), file("a\n"), none, "deleted"},
		{"deleted inside, edited here", file("a\n"), file("b\n"), none, "deleted!"},
		{"edited inside, deleted here", file("a\n"), none, file("b\n"), "created!"},
		{"deleted by both", file("a\n"), none, none, ""},
		{"made by both", none, file("a\n"), file("b\n"), "lines!"},
		{"made by both alike", none, file("a\n"), file("a\n"), ""},
		{"a link moved inside", link("a"), link("a"), link("b"), "symlink"},
		{"a link moved by both", link("a"), link("b"), link("c"), "symlink!"},
		{"a link moved here", link("a"), link("b"), link("a"), ""},
		{"a file became a link", file("a\n"), file("a\n"), link("b"), "type"},
		{"a file became a link, and was edited", file("a\n"), file("b\n"), link("b"), "type!"},
		{"a mode inside", mode(0o644), mode(0o644), mode(0o755), "mode"},
		{"a mode here", mode(0o644), mode(0o600), mode(0o644), ""},
		{"two modes", mode(0o644), mode(0o600), mode(0o755), "mode!"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, h := range CompareBase("/p", tt.host, tt.sandbox, tt.base) {
				text := string(h.Kind)
				if h.Conflict {
					text += "!"
				}
				got = append(got, text)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %q", got, tt.want)
			}
			checkBaseLaw(t, tt.base, tt.host, tt.sandbox, 1)
		})
	}
}

// checkBaseLaw asserts all that CompareBase, Apply, Revert and Merge promise
// together for three versions.
func checkBaseLaw(t testing.TB, base, host, sandbox Side, pick uint64) {
	t.Helper()
	hunks := CompareBase("/p", host, sandbox, base)
	show := func() string {
		return fmt.Sprintf("\nbase    %q\nhost    %q\nsandbox %q\nhunks   %s", base.Data, host.Data, sandbox.Data, describe(hunks))
	}
	if got := apply(t, host, sandbox, hunks, None); !sameSide(got, host) {
		t.Fatalf("none taken: %q%s", got.Data, show())
	}
	// With everything taken there is nothing left of the sandbox's to take.
	all := apply(t, host, sandbox, hunks, All)
	if !missing(base) {
		next := Advance("/p", base, host, sandbox, All, None)
		if left := CompareBase("/p", all, sandbox, next); len(left) > 0 {
			t.Fatalf("all taken, %q, and left: %s%s", all.Data, describe(left), show())
		}
	}
	// With everything dropped only conflicts may be left, in which lines repeat.
	dropped, err := Revert(host, sandbox, hunks, All)
	if err != nil {
		t.Fatalf("drop all: %v%s", err, show())
	}
	next := Advance("/p", base, host, sandbox, None, All)
	if left := withoutConflicts(CompareBase("/p", host, dropped, next)); len(left) > 0 && !missing(base) {
		t.Fatalf("all dropped, %q, base %q, and left: %s%s", dropped.Data, next.Data, describe(left), show())
	}
	if got, err := Revert(host, sandbox, hunks, None); err != nil || !sameSide(got, sandbox) {
		t.Fatalf("none dropped: %q %v%s", got.Data, err, show())
	}
	merged, clean := Merge(base, host, sandbox)
	turned, cleanTurned := Merge(base, sandbox, host)
	if clean != cleanTurned || clean && !sameSide(merged, turned) {
		t.Fatalf("merged: %v %q, the other way round: %v %q%s", clean, merged.Data, cleanTurned, turned.Data, show())
	}
	if clean && !sameSide(merged, all) {
		t.Fatalf("merged %q, all taken %q%s", merged.Data, all.Data, show())
	}
	// With a host that did not change it is Compare.
	plain, based := Compare("/p", base, sandbox), CompareBase("/p", base, sandbox, base)
	if fmt.Sprint(idsOf(plain)) != fmt.Sprint(idsOf(based)) {
		t.Fatalf("on an unchanged host: %s, want %s%s", describe(based), describe(plain), show())
	}
	checkApart(t, base, host, sandbox, hunks)
	// In two steps it is what it is in one, unless the rest became a conflict.
	subset := func(h Hunk) bool {
		for i := range hunks {
			if hunks[i].ID == h.ID {
				return pick>>(i%64)&1 == 1
			}
		}
		return false
	}
	part := apply(t, host, sandbox, hunks, subset)
	if !missing(base) && clean {
		rest := CompareBase("/p", part, sandbox, Advance("/p", base, host, sandbox, subset, None))
		after := apply(t, part, sandbox, rest, All)
		if len(withoutConflicts(slices.Clone(rest))) == len(rest) && !sameSide(after, merged) {
			t.Fatalf("in two steps: %q, in one: %q%s", after.Data, merged.Data, show())
		}
	}
}

// checkApart asserts that hunks and the places of Apart together are all that
// differs in the lines.
func checkApart(t testing.TB, base, host, sandbox Side, hunks []Hunk) {
	t.Helper()
	spots := Apart(host, sandbox, base)
	if missing(base) || !textPair(host, sandbox) || notText(base.Data) != "" || base.Type != entry.File {
		if spots != nil {
			t.Fatalf("%v apart from each other in what is no text", spots)
		}
		return
	}
	for _, h := range hunks {
		if h.Kind == Lines {
			spots = append(spots, [2]Range{h.Host, h.Sandbox})
		}
	}
	slices.SortFunc(spots, func(a, b [2]Range) int {
		x, _ := a[0].span()
		y, _ := b[0].span()
		v, _ := a[1].span()
		w, _ := b[1].span()
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(v, w))
	})
	h, s, _ := decompose(host.Data, sandbox.Data)
	hostIdx, sandboxIdx := indexLines(h.norm), indexLines(s.norm)
	spots = append(spots, [2]Range{rangeOf(hostIdx.lines(), hostIdx.lines()), rangeOf(sandboxIdx.lines(), sandboxIdx.lines())})
	var hAt, sAt int
	for _, spot := range spots {
		h0, h1 := spot[0].span()
		s0, s1 := spot[1].span()
		if h0 < hAt || s0 < sAt || !bytes.Equal(hostIdx.cut(h.norm, hAt, h0), sandboxIdx.cut(s.norm, sAt, s0)) {
			t.Fatalf("the lines before %v differ, or overlap\nhost %q\nsandbox %q\nbase %q\n%v", spot, host.Data, sandbox.Data, base.Data, spots)
		}
		hAt, sAt = h1, s1
	}
}

// withoutConflicts leaves conflicts out.
func withoutConflicts(hunks []Hunk) []Hunk {
	return slices.DeleteFunc(hunks, func(h Hunk) bool { return h.Conflict })
}

// A user's edit elsewhere leaves the ids of the agent's blocks alone.
func TestIDsStayWhenTheHostIsEditedElsewhere(t *testing.T) {
	base := file("1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	sandbox := file("1\n2\n3\n4\nfive\n6\n7\n8\nnine\n")
	before := idsOf(Compare("/p", base, sandbox))
	host := file("mine\n1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	after := CompareBase("/p", host, sandbox, base)
	if fmt.Sprint(idsOf(after)) != fmt.Sprint(before) {
		t.Errorf("%v became %v", before, idsOf(after))
	}
	if after[0].Host != (Range{6, 1}) || after[0].Sandbox != (Range{5, 1}) {
		t.Errorf("the block is at %v and %v", after[0].Host, after[0].Sandbox)
	}
}

func TestBaseLawOnRandomTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for range 6000 {
		base := randomText(r, 12)
		host, sandbox := mutate(r, base), mutate(r, base)
		if r.IntN(4) == 0 { // an edit of both
			both := mutate(r, base)
			host, sandbox = mutate(r, both), mutate(r, both)
		}
		checkBaseLaw(t, file(base), file(host), file(sandbox), r.Uint64())
	}
}

func randomText(r *rand.Rand, lines int) string {
	var b strings.Builder
	for range r.IntN(lines) {
		b.WriteString([]string{"a", "b", "c", "", "d"}[r.IntN(5)])
		b.WriteString([]string{"\n", "\n", "\n", "\r\n"}[r.IntN(4)])
	}
	if r.IntN(3) == 0 {
		b.WriteString("end")
	}
	return b.String()
}

func mutate(r *rand.Rand, text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range r.IntN(3) {
		at := r.IntN(len(lines))
		switch r.IntN(4) {
		case 0:
			lines[at] = "x" + lines[at]
		case 1:
			lines[at] = ""
		case 2:
			lines[at] = "new\n" + lines[at]
		case 3:
			lines[at] = strings.ReplaceAll(lines[at], "\r\n", "\n")
		}
	}
	out := strings.Join(lines, "")
	if r.IntN(12) == 0 {
		out = strings.ReplaceAll(out, "\r\n", "\n")
	}
	if r.IntN(20) == 0 {
		out = "\xef\xbb\xbf" + out
	}
	return out
}

func FuzzBaseLaw(f *testing.F) {
	f.Add("1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree", uint64(3))
	f.Add("a\r\nb\nc", "a\nb\nc\n", "\xef\xbb\xbfa\r\nb\r\n", uint64(1))
	f.Fuzz(func(t *testing.T, base, host, sandbox string, pick uint64) {
		checkBaseLaw(t, file(base), file(host), file(sandbox), pick)
	})
}
