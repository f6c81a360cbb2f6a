package diff

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// short writes hunks one a line: kind, ranges or values, lines.
func short(hunks []Hunk) string {
	var out []string
	for _, h := range hunks {
		s := string(h.Kind)
		if h.Kind == Lines {
			s = fmt.Sprintf("%d,%d>%d,%d", h.Host[0], h.Host[1], h.Sandbox[0], h.Sandbox[1])
		} else {
			s += fmt.Sprintf(" %s>%s", h.Old, h.New)
		}
		for _, l := range h.Lines {
			s += fmt.Sprintf(" %s%s", l.Op, l.Text)
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func TestCompareText(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	for _, c := range []struct {
		what          string
		host, sandbox string
		want          string
	}{
		{"equal", "a\n", "a\n", ""},
		{"one line", "a\nb\nc\n", "a\nX\nc\n", "2,1>2,1 -b +X"},
		{"two blocks", "a\nb\nc\nd\n", "a\nB\nc\nD\n", "2,1>2,1 -b +B; 4,1>4,1 -d +D"},
		{"added at the top", "a\n", "x\na\n", "0,0>1,1 +x"},
		{"added at the end", "a\n", "a\nx\n", "1,0>2,1 +x"},
		{"removed at the top", "x\na\n", "a\n", "1,1>0,0 -x"},
		{"removed at the end", "a\nx\n", "a\n", "2,1>1,0 -x"},
		{"indent heuristic", "f {\n\ta\n}\n\ng {\n\tb\n}\n", "f {\n\ta\n}\n\nh {\n\tc\n}\n\ng {\n\tb\n}\n", "4,0>5,4 +h { +\tc +} +"},

		// Line ends (mini.nvim#870, avante.nvim#1621, vscode#19254, openai/codex#11416).
		{"both CRLF", "a\r\nb\r\n", "a\r\nX\r\n", "2,1>2,1 -b +X"},
		{"LF to CRLF", "a\nb\n", "a\r\nb\r\n", "eol LF>CRLF"},
		{"CRLF to LF with an edit", "a\r\nb\r\n", "a\nX\n", "eol CRLF>LF; 2,1>2,1 -b +X"},
		{"mixed against LF", "a\nb\nc\n", "a\nb\r\nc\n", "2,1>2,1 -b +b\r"},
		{"mixed against CRLF", "a\r\nb\r\n", "a\r\nb\n", "2,1>2,1 -b\r +b"},
		{"one LF line in a CRLF file", "a\r\nb\r\n", "a\r\nnew\nb\r\n", "1,0>2,1 +new"},
		{"both mixed", "a\r\nb\n", "a\r\nc\n", "2,1>2,1 -b +c"},
		{"no line end against CRLF", "a", "a\r\nb\r\n", "1,0>2,1 +b; final_newline no newline at end>newline at end"},
		{"no line end against LF", "a", "b", "1,1>1,1 -a +b"},
		{"CR alone ends no line", "a\rb", "a\rc", "1,1>1,1 -a\rb +a\rc"},
		{"two CRs", "a\r\r\n", "a\r\n", "1,1>1,1 -a\r +a"},
		{"CR at the end without LF", "a\r\nb\r", "a\r\nb", "2,1>2,1 -b\r +b"},

		// Byte order mark (mini.nvim#1794, magit#2832).
		{"BOM only", "a\nb\n", bom + "a\nb\n", "bom no BOM>BOM"},
		{"both with BOM, line 1 clean", bom + "a\nb\n", bom + "a\nc\n", "2,1>2,1 -b +c"},
		{"BOM goes, line changes", bom + "a\n", "b\n", "bom BOM>no BOM; 1,1>1,1 -a +b"},
		{"BOM and nothing else", "", bom, "bom no BOM>BOM"},

		// The end of the file (gitsigns actions_spec 723, claudecode.nvim#33).
		{"loses the final newline", "a\nb\n", "a\nb", "final_newline newline at end>no newline at end"},
		{"neither has one", "a\nb", "c\nb", "1,1>1,1 -a +c"},
		{"append to a file without one", "a", "a\nb\n", "1,0>2,1 +b; final_newline no newline at end>newline at end"},
		{"empty against one empty line", "", "\n", "0,0>1,1 +"},
		{"one empty line against empty", "\n", "", "1,1>0,0 -"},
		{"filled without newline", "", "a", "0,0>1,1 +a"},
		{"emptied", "a\nb\n", "", "1,2>0,0 -a -b"},
		{"CRLF and empty", "\r\n", "", "1,1>0,0 -"},

		// Encodings (git-for-windows#515): bytes, never decoded.
		{"latin-1", "\xa9 1\ncaf\xe9\n", "\xa9 1\ncaf\xe8\n", "2,1>2,1 -caf\xe9 +caf\xe8"},
		{"trailing blanks count", "a  \n", "a\n", "1,1>1,1 -a   +a"},

		// What is no text is taken whole, with the reason.
		{"NUL", "a\n", "a\x00\n", "binary text, 2 bytes>not text (NUL byte), 3 bytes"},
		{"UTF-16", "\xff\xfea", "\xff\xfeb", "binary not text (UTF-16), 3 bytes>not text (UTF-16), 3 bytes"},
		{"NUL beyond the first 8000 bytes", strings.Repeat("x\n", 4000) + "\x00", strings.Repeat("x\n", 4000) + "\x00y", "4001,1>4001,1 -\x00 +\x00y"},
		{"equal binaries", "\x00", "\x00", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := short(Compare("/p", file(c.host), file(c.sandbox))); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestCompareTooLargeForLines(t *testing.T) {
	for _, c := range []struct{ what, data, reason string }{
		{"a line of 10 MB", strings.Repeat("x", 10<<20), "a line longer than 1 MiB"},
		{"100 MB", strings.Repeat("line\n", 20<<20), "larger than 32 MiB"},
		{"3 million lines", strings.Repeat("\n", 3_000_000), "more than 2000000 lines"},
	} {
		t.Run(c.what, func(t *testing.T) {
			host, sandbox := file("a\n"), file(c.data)
			hunks := Compare("/p", host, sandbox)
			if len(hunks) != 1 || hunks[0].Kind != Binary || !strings.Contains(hunks[0].New, c.reason) {
				t.Fatalf("%.200s", short(hunks))
			}
			if got := apply(t, host, sandbox, hunks, All); !sameSide(got, sandbox) {
				t.Error("taken, it is not the sandbox's version")
			}
			if a, r := Count(host, sandbox); a != -1 || r != -1 {
				t.Errorf("+%d -%d", a, r)
			}
		})
	}
}

func TestCompareTypes(t *testing.T) {
	none := Side{Type: entry.None}
	link := func(to string) Side { return Side{Type: entry.Symlink, Mode: 0o777, Target: to} }
	mode := func(s Side, m uint32) Side { s.Mode = m; return s }
	dir := Side{Type: entry.Dir, Mode: 0o755}
	fifo := Side{Type: entry.Fifo, Mode: 0o644}
	for _, c := range []struct {
		what          string
		host, sandbox Side
		want          string
	}{
		{"created", none, file("a\nb"), "created >100644 +a +b"},
		{"created in CRLF with BOM", none, file("\xef\xbb\xbfa\r\nb\r\n"), "created >100644 +a +b"},
		{"created empty", none, file(""), "created >100644"},
		{"created binary", none, file("\x00"), "created >100644"},
		{"created link", none, link("x"), "created >120000"},
		{"created directory", none, dir, "created >040755"},
		{"created fifo", none, fifo, "created >010644"},
		{"deleted", mode(file("a\n"), 0o755), none, "deleted 100755> -a"},
		{"empty deleted", file(""), none, "deleted 100644>"},
		{"link moved", link("x"), link("y"), "symlink x>y"},
		{"link kept", link("x"), link("x"), ""},
		{"link to file", link("x"), file("a\n"), "type symlink>file"},
		{"file to directory", file("a\n"), dir, "type file>dir"},
		{"mode only", file("a\n"), mode(file("a\n"), 0o755), "mode 100644>100755"},
		{"setuid", mode(file("\x00"), 0o755), mode(file("\x00"), 0o4755), "mode 100755>104755"},
		{"mode of a directory", dir, mode(dir, 0o1777), "mode 040755>041777"},
		{"mode and text", file("a\n"), mode(file("b\n"), 0o600), "mode 100644>100600; 1,1>1,1 -a +b"},
		{"mode and binary", file("\x00"), mode(file("\x00\x00"), 0o600), "mode 100644>100600; binary not text (NUL byte), 1 bytes>not text (NUL byte), 2 bytes"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := short(Compare("/p", c.host, c.sandbox)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestApplyChoices takes single hunks, chosen by their kind or first line.
func TestApplyChoices(t *testing.T) {
	for _, c := range []struct {
		what          string
		host, sandbox string
		take          string // kinds, or for line hunks the first line with its sign
		want          string
	}{
		{"later block, count changed by an earlier one", "a\nb\nc\nd\n", "1\n2\n3\nb\nc\nD\n", "-d", "a\nb\nc\nD\n"},
		{"earlier block", "a\nb\nc\nd\n", "1\n2\n3\nb\nc\nD\n", "-a", "1\n2\n3\nb\nc\nd\n"},
		{"untouched lines keep CRLF", "a\r\nb\r\nc\r\n", "X\r\nb\r\nY\r\n", "-a", "X\r\nb\r\nc\r\n"},
		{"a line of a file in LF enters one in CRLF", "a\r\nb\r\n", "a\nb\nnew\n", "+new", "a\r\nb\r\nnew\r\n"},
		{"line ends without the new line", "a\r\nb\r\n", "a\nb\nnew\n", "eol", "a\nb\n"},
		{"one LF line enters a CRLF file as it is", "a\r\nb\r\n", "X\na\r\nb\r\n", "+X", "X\na\r\nb\r\n"},
		{"final newline kept with a new last line", "a\nb\n", "a\nc", "-b", "a\nc\n"},
		{"final newline alone", "a\nb\n", "a\nc", "final_newline", "a\nb"},
		{"append to a file without final newline", "a", "a\nb\n", "+b", "a\nb"},
		{"append in CRLF to one line", "a", "a\r\nb\r\n", "+b", "a\r\nb"},
		{"BOM kept", "\xef\xbb\xbfa\nb\n", "A\nb\n", "-a", "\xef\xbb\xbfA\nb\n"},
		{"BOM alone", "\xef\xbb\xbfa\nb\n", "A\nb\n", "bom", "a\nb\n"},
		{"latin-1 beside the block", "\xa9\nb\n\xe9\n", "\xa9\nB\n\xe9\nx\n", "-b", "\xa9\nB\n\xe9\n"},
		{"trailing blanks beside the block", "a  \nb\nc\t\n", "a  \nB\nc\t\nd\n", "-b", "a  \nB\nc\t\n"},
		{"emptied", "a\nb", "", "-a", ""},
		{"filled", "", "a\r\nb", "+a", "a\r\nb"},
	} {
		t.Run(c.what, func(t *testing.T) {
			host, sandbox := file(c.host), file(c.sandbox)
			hunks := Compare("/p", host, sandbox)
			found := 0
			take := func(h Hunk) bool {
				yes := string(h.Kind) == c.take ||
					h.Kind == Lines && h.Lines[0].Op+string(h.Lines[0].Text) == c.take
				if yes {
					found++
				}
				return yes
			}
			got := apply(t, host, sandbox, hunks, take)
			if found != 1 {
				t.Fatalf("%q chose %d hunks of %s", c.take, found, short(hunks))
			}
			if string(got.Data) != c.want {
				t.Errorf("got %q, want %q", got.Data, c.want)
			}
		})
	}
}

func TestRejectIsAcceptOfTheOthers(t *testing.T) {
	host, sandbox := file("a\nb\nc\nd\ne\n"), file("A\nb\nC\nd\nE\n")
	hunks := Compare("/p", host, sandbox)
	second, err := Select(hunks, []string{hunks[1].ID})
	if err != nil {
		t.Fatal(err)
	}
	got := apply(t, host, sandbox, hunks, NotAmong(second))
	if want := "A\nb\nc\nd\nE\n"; string(got.Data) != want {
		t.Errorf("got %q, want %q", got.Data, want)
	}
	got = apply(t, host, sandbox, hunks, Among(second))
	if want := "a\nb\nC\nd\ne\n"; string(got.Data) != want {
		t.Errorf("got %q, want %q", got.Data, want)
	}
}

func TestModeIsTakenOnlyByItsOwnHunk(t *testing.T) {
	host := file("a\n")
	sandbox := Side{Type: entry.File, Mode: 0o4755, Data: []byte("b\n")}
	hunks := Compare("/p", host, sandbox)
	for kind, want := range map[Kind]Side{
		Lines: {Type: entry.File, Mode: 0o644, Data: []byte("b\n")},
		Mode:  {Type: entry.File, Mode: 0o4755, Data: []byte("a\n")},
	} {
		got := apply(t, host, sandbox, hunks, func(h Hunk) bool { return h.Kind == kind })
		if !sameSide(got, want) {
			t.Errorf("%s: %q %o", kind, got.Data, got.Mode)
		}
	}
}

func TestSelect(t *testing.T) {
	hunks := Compare("/p", file("a\nb\nc\n"), file("A\nb\nC\n"))
	got, err := Select(hunks, []string{hunks[1].ID, hunks[0].ID, hunks[1].ID})
	if err != nil || len(got) != 2 || got[0].ID != hunks[0].ID {
		t.Errorf("%v %v", short(got), err)
	}
	if got, err := Select(hunks, nil); err != nil || got != nil {
		t.Errorf("no ids: %v %v", short(got), err)
	}
	twice := append(slices.Clone(hunks), hunks[0])
	for _, c := range []struct {
		hunks []Hunk
		id    string
	}{{hunks, "0123456789abcdef"}, {hunks, ""}, {hunks, hunks[0].ID[:8]}, {twice, hunks[0].ID}} {
		_, err := Select(c.hunks, []string{hunks[1].ID, c.id})
		if !errors.Is(err, &fault.Error{Code: fault.Stale}) || fault.HintOf(err) == "" {
			t.Errorf("%q: %v", c.id, err)
		}
	}
}

func TestApplyRefusesHunksOfOtherSides(t *testing.T) {
	none, link := Side{Type: entry.None}, Side{Type: entry.Symlink, Target: "x"}
	was := Compare("/p", file("a\nb\nc\n"), file("a\nX\nc\n"))
	for _, c := range []struct {
		what          string
		hunks         []Hunk
		host, sandbox Side
	}{
		{"old line changed", was, file("a\nB\nc\n"), file("a\nX\nc\n")},
		{"new line changed", was, file("a\nb\nc\n"), file("a\nY\nc\n")},
		{"line longer", was, file("a\nbb\nc\n"), file("a\nX\nc\n")},
		{"file shorter", was, file("a\n"), file("a\nX\nc\n")},
		{"file emptied", was, file(""), file("a\nX\nc\n")},
		{"now binary", was, file("\x00"), file("a\nX\nc\n")},
		{"now a link", was, link, file("a\nX\nc\n")},
		{"now gone", was, file("a\nb\nc\n"), none},
		{"created, but there", Compare("/p", none, file("a\n")), file("b\n"), file("a\n")},
		{"link moved, but a file", Compare("/p", link, Side{Type: entry.Symlink, Target: "y"}), link, file("")},
		{"binary, but a link", Compare("/p", file("\x00"), file("a")), link, file("a")},
		{"mode, but gone", Compare("/p", file(""), Side{Type: entry.File, Mode: 0o755}), file(""), none},
		{"not in order", []Hunk{
			{Kind: Lines, Host: Range{2, 0}, Sandbox: Range{0, 0}},
			{Kind: Lines, Host: Range{1, 0}, Sandbox: Range{0, 0}},
		}, file("a\nb\n"), file("a\n")},
		{"nonsense ranges", []Hunk{{Kind: Lines, Host: Range{-5, 2}, Sandbox: Range{1 << 40, -1}}}, file("a\n"), file("b\n")},
	} {
		t.Run(c.what, func(t *testing.T) {
			got, err := Apply(c.host, c.sandbox, c.hunks, All)
			if !errors.Is(err, &fault.Error{Code: fault.Stale}) {
				t.Errorf("%q, %v", got.Data, err)
			}
		})
	}
}

// TestCoarseCutIsRight is about what stands in for a differ that is wrong.
func TestCoarseCutIsRight(t *testing.T) {
	for _, a := range contents {
		for _, b := range contents {
			h, s, _ := decompose([]byte(a), []byte(b))
			hi, si := indexLines(h.norm), indexLines(s.norm)
			e := onlyTheMiddle(h.norm, s.norm, hi, si)
			if !bytes.Equal(h.norm, s.norm) && !consistent([]edit{e}, h.norm, s.norm, hi, si) {
				t.Errorf("%q %q: %v", a, b, e)
			}
		}
	}
	wrong := [][]edit{
		{{0, 1, 0, 0}}, {{0, 0, 0, 1}}, {{1, 0, 0, 0}}, {{0, 9, 0, 9}}, {}, {{0, 1, 0, 1}, {1, 2, 1, 2}},
	}
	host, sandbox := []byte("a\nb\nc\n"), []byte("X\nY\nc\n")
	hi, si := indexLines(host), indexLines(sandbox)
	for _, edits := range wrong {
		if consistent(edits, host, sandbox, hi, si) {
			t.Errorf("%v was believed", edits)
		}
	}
}

// TestLargeShuffledText is the worst text for the differ: few different lines,
// in another order. It must neither take minutes nor break the law.
func TestLargeShuffledText(t *testing.T) {
	shuffled := func(seed uint64) string {
		rng := rand.New(rand.NewPCG(seed, seed))
		var b strings.Builder
		for range 250_000 {
			b.WriteString([]string{"a\n", "b\n", "c\n", "}\n"}[rng.IntN(4)])
		}
		return b.String()
	}
	host, sandbox := file("first\n"+shuffled(1)+"anchor\n"+shuffled(2)), file("first\n"+shuffled(3)+"anchor\n"+shuffled(4)+"last\n")
	start := time.Now()
	hunks := Compare("/p", host, sandbox)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if len(hunks) < 2 {
		t.Errorf("%d hunks: the line that both have once was not found", len(hunks))
	}
	if got := apply(t, host, sandbox, hunks, All); !sameSide(got, sandbox) {
		t.Error("all taken is not the sandbox's version")
	}
}
