package diff

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"sandbox/engine/entry"
)

// checkLaw asserts all that Compare and Apply promise together for one pair.
func checkLaw(t testing.TB, host, sandbox Side, pick uint64) {
	t.Helper()
	hostWas, sandboxWas := bytes.Clone(host.Data), bytes.Clone(sandbox.Data)
	hunks := Compare("/p", host, sandbox)
	show := func() string {
		return fmt.Sprintf("\nhost    %q\nsandbox %q\nhunks   %s", host.Data, sandbox.Data, describe(hunks))
	}

	if got := apply(t, host, sandbox, hunks, All); !sameSide(got, sandbox) {
		t.Fatalf("all taken: %q %o%s", got.Data, got.Mode, show())
	}
	if got := apply(t, host, sandbox, hunks, None); !sameSide(got, host) {
		t.Fatalf("none taken: %q %o%s", got.Data, got.Mode, show())
	}
	if sameSide(host, sandbox) != (len(hunks) == 0) {
		t.Fatalf("hunks do not say whether the sides differ%s", show())
	}
	ids := map[string]bool{}
	for _, h := range hunks {
		if len(h.ID) != 16 || ids[h.ID] {
			t.Fatalf("id %q is not 16 digits or not unique%s", h.ID, show())
		}
		ids[h.ID] = true
	}
	again := Compare("/p", host, sandbox)
	for i := range hunks {
		if hunks[i].ID != again[i].ID {
			t.Fatalf("ids differ between two runs%s", show())
		}
	}

	subset := map[string]bool{}
	for i, h := range hunks {
		subset[h.ID] = pick>>(i%64)&1 == 1
	}
	take := func(h Hunk) bool { return subset[h.ID] }
	part := apply(t, host, sandbox, hunks, take)
	if textPair(host, sandbox) && host.Type == sandbox.Type {
		if want := expect(host.Data, sandbox.Data, hunks, take); !bytes.Equal(part.Data, want) {
			t.Fatalf("subset %b: %q, want %q%s", pick, part.Data, want, show())
		}
	}
	// The hunks that were not listed count as not taken.
	var some []Hunk
	for _, h := range hunks {
		if take(h) {
			some = append(some, h)
		}
	}
	if got := apply(t, host, sandbox, some, All); !sameSide(got, part) {
		t.Fatalf("only the taken ones listed: %q, want %q%s", got.Data, part.Data, show())
	}
	if !bytes.Equal(host.Data, hostWas) || !bytes.Equal(sandbox.Data, sandboxWas) {
		t.Fatalf("a side's data was written to%s", show())
	}
}

// expect computes a subset's result line by line in the most naive way, from
// the description of the text model and not from its code.
func expect(host, sandbox []byte, hunks []Hunk, take func(Hunk) bool) []byte {
	attribute := func(k Kind) bool {
		for _, h := range hunks {
			if h.Kind == k {
				return take(h)
			}
		}
		return false
	}
	bom := []byte("\xef\xbb\xbf")
	hostBody, hostBOM := bytes.CutPrefix(host, bom)
	sandboxBody, sandboxBOM := bytes.CutPrefix(sandbox, bom)
	hostEnds, sandboxEnds := endsOf(hostBody), endsOf(sandboxBody)
	raw := hostEnds == "mixed" || sandboxEnds == "mixed"
	hostLines := naiveLines(hostBody, !raw && hostEnds == "\r\n")
	sandboxLines := naiveLines(sandboxBody, !raw && sandboxEnds == "\r\n")

	var lines [][]byte
	h := 0
	for _, hunk := range hunks {
		if hunk.Kind != Lines {
			continue
		}
		h0, s0 := hunk.Host[0]-1, hunk.Sandbox[0]-1
		if hunk.Host[1] == 0 {
			h0++
		}
		if hunk.Sandbox[1] == 0 {
			s0++
		}
		lines = append(lines, hostLines[h:h0]...)
		if take(hunk) {
			lines = append(lines, sandboxLines[s0:s0+hunk.Sandbox[1]]...)
		} else {
			lines = append(lines, hostLines[h0:h0+hunk.Host[1]]...)
		}
		h = h0 + hunk.Host[1]
	}
	lines = append(lines, hostLines[h:]...)

	end := hostEnds
	if end == "" || attribute(EOL) {
		end = sandboxEnds
	}
	if raw {
		end = "\n"
	}
	final := bytes.HasSuffix(hostBody, []byte("\n"))
	if len(hostBody) == 0 || attribute(FinalNewline) {
		final = bytes.HasSuffix(sandboxBody, []byte("\n"))
	}
	var out []byte
	if hostBOM != attribute(BOM) && (hostBOM || sandboxBOM) {
		out = append(out, bom...)
	}
	out = append(out, bytes.Join(lines, []byte(end))...)
	if final && len(lines) > 0 {
		out = append(out, end...)
	}
	return out
}

func endsOf(body []byte) string {
	all, dos := bytes.Count(body, []byte("\n")), bytes.Count(body, []byte("\r\n"))
	switch {
	case all == 0:
		return ""
	case dos == 0:
		return "\n"
	case dos == all:
		return "\r\n"
	}
	return "mixed"
}

func naiveLines(body []byte, dos bool) [][]byte {
	if len(body) == 0 {
		return nil
	}
	end := "\n"
	if dos {
		end = "\r\n"
	}
	lines := bytes.Split(body, []byte(end))
	if len(lines[len(lines)-1]) == 0 && bytes.HasSuffix(body, []byte("\n")) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func apply(t testing.TB, host, sandbox Side, hunks []Hunk, take func(Hunk) bool) Side {
	t.Helper()
	got, err := Apply(host, sandbox, hunks, take)
	if err != nil {
		t.Fatalf("Apply: %v\nhost    %q\nsandbox %q", err, host.Data, sandbox.Data)
	}
	return got
}

func sameSide(a, b Side) bool {
	return a.Type == b.Type && a.Mode == b.Mode && a.Target == b.Target && bytes.Equal(a.Data, b.Data)
}

func describe(hunks []Hunk) string {
	var b bytes.Buffer
	for _, h := range hunks {
		fmt.Fprintf(&b, "\n  %s %v %v %q %q", h.Kind, h.Host, h.Sandbox, h.Old, h.New)
		for _, l := range h.Lines {
			fmt.Fprintf(&b, " %s%q", l.Op, l.Text)
		}
	}
	return b.String()
}

func file(data string) Side { return Side{Type: entry.File, Mode: 0o644, Data: []byte(data)} }

// contents are texts of every shape that the model knows.
var contents = []string{
	"", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n", "a", "a\n", "a\r\n", "a\r", "a\nb\r", "a\r\nb\r", "a\r\r\n",
	"a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nb\r\nc\n", "a\nb\nc", "a\r\nb\r\nc", "a\r\nX\r\nc\r\n", "a\nX\nc\r\n",
	"\xef\xbb\xbf", "\xef\xbb\xbfa\n", "\xef\xbb\xbfa\r\nb\r\n", "\xef\xbb\xbf\n", "b\nc\n", "a\nb\n", "c\nb\na\n",
	"caf\xe9\n\xa9\n", "caf\xe9\nx\n", "\xff\xfea\x00", "a\x00b\n", "\xfe\xff", "\x80\xbf\n", "a\n\x1a", "a\r\nb\r\n\x1a",
	"if x {\n\ta()\n}\n\nif y {\n\tb()\n}\n", "if x {\n\ta()\n}\n\nif z {\n\tc()\n}\n\nif y {\n\tb()\n}\n",
	"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\nx\n4\n5\n6\ny\n8\n9\nz\n", "0\n1\n2\n3\n4\n6\n7\n8\n",
	"x\nx\nx\nx\nx\nx\nx\nx\n", "x\nx\nx\nx\ny\nx\nx\nx\nx\ny\nx\nx\n",
}

func TestLawOnAllPairs(t *testing.T) {
	for _, a := range contents {
		for _, b := range contents {
			for pick := range uint64(16) {
				checkLaw(t, file(a), file(b), pick)
			}
		}
	}
}

func TestLawOnRandomPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		a, b := randomPair(rng)
		checkLaw(t, a, b, rng.Uint64())
	}
}

// randomPair gives a file and an edited version of it.
func randomPair(rng *rand.Rand) (host, sandbox Side) {
	words := []string{"a", "b", "", "{", "}", "\tx := 1", "  y", "\r", "long line of text", "\xe9", "\xff\xfe", "ü"}
	line := func() string { return words[rng.IntN(len(words))] }
	var old, edited []string
	for range rng.IntN(25) {
		old = append(old, line())
	}
	for _, l := range old {
		switch rng.IntN(8) {
		case 0:
		case 1:
			edited = append(edited, line())
		case 2:
			edited = append(edited, l, line())
		default:
			edited = append(edited, l)
		}
	}
	join := func(lines []string) Side {
		var b bytes.Buffer
		if rng.IntN(8) == 0 {
			b.WriteString("\xef\xbb\xbf")
		}
		kind := rng.IntN(5)
		for i, l := range lines {
			b.WriteString(l)
			if i == len(lines)-1 && rng.IntN(4) == 0 {
				break
			}
			if kind == 0 || (kind == 1 && rng.IntN(2) == 0) {
				b.WriteByte('\r')
			}
			b.WriteByte('\n')
		}
		modes := []uint32{0o644, 0o644, 0o644, 0o755, 0o600}
		return Side{Type: entry.File, Mode: modes[rng.IntN(len(modes))], Data: b.Bytes()}
	}
	return join(old), join(edited)
}

func TestLawOnTypes(t *testing.T) {
	sides := []Side{
		{Type: entry.None},
		{},
		file(""), file("a\n"), file("a\x00"),
		{Type: entry.File, Mode: 0o4755, Data: []byte("a\nb\n")},
		{Type: entry.Symlink, Mode: 0o777, Target: "there"},
		{Type: entry.Symlink, Mode: 0o777, Target: "else\nwhere"},
		{Type: entry.Dir, Mode: 0o755},
		{Type: entry.Dir, Mode: 0o1777},
		{Type: entry.Fifo, Mode: 0o644},
		{Type: entry.Socket, Mode: 0o755},
		{Type: entry.Char, Mode: 0o600},
	}
	for _, a := range sides {
		for _, b := range sides {
			if missing(a) && missing(b) {
				if hunks := Compare("/p", a, b); hunks != nil {
					t.Errorf("nothing against nothing: %s", describe(hunks))
				}
				continue
			}
			for pick := range uint64(8) {
				checkLaw(t, a, b, pick)
			}
		}
	}
}

func FuzzApply(f *testing.F) {
	for i, a := range contents {
		f.Add([]byte(a), []byte(contents[(i*7+3)%len(contents)]), uint32(0o644), uint32(0o755), uint64(i))
		f.Add([]byte(a), []byte(contents[(i+1)%len(contents)]), uint32(0o644), uint32(0o644), uint64(i*3))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, aMode, bMode uint32, pick uint64) {
		checkLaw(t,
			Side{Type: entry.File, Mode: aMode & 0o7777, Data: a},
			Side{Type: entry.File, Mode: bMode & 0o7777, Data: b}, pick)
	})
}
