package diff

import (
	"slices"
	"strings"
	"testing"
)

func idsOf(hunks []Hunk) []string {
	var ids []string
	for _, h := range hunks {
		ids = append(ids, h.ID)
	}
	return ids
}

// block is a piece of text in which a line can be changed; blocks of the same
// letter have the same context.
func block(letter, changed string) string {
	return strings.Repeat(letter+"\n", 4) + changed + "\n" + strings.Repeat(letter+"\n", 4)
}

func TestIDsStayWhenAnotherHunkIsAccepted(t *testing.T) {
	host := file(block("a", "1") + block("b", "1") + block("c", "1") + block("a", "1"))
	sandbox := file(block("a", "2") + block("b", "2\n3") + block("c", "2") + block("a", "2"))
	hunks := Compare("/p", host, sandbox)
	if len(hunks) != 4 {
		t.Fatal(short(hunks))
	}
	// The first and the last are twins: same lines, same context.
	for i, h := range hunks {
		now := apply(t, host, sandbox, hunks, Among([]Hunk{h}))
		want := slices.Delete(idsOf(hunks), i, i+1)
		if got := idsOf(Compare("/p", now, sandbox)); !slices.Equal(got, want) {
			t.Errorf("after accept of %d: %v, want %v", i, got, want)
		}
	}
}

func TestIDsNeverNameANeighbour(t *testing.T) {
	host := file(block("a", "1") + block("a", "1") + block("a", "1"))
	sandbox := file(block("a", "2") + block("a", "2") + block("a", "2"))
	hunks := Compare("/p", host, sandbox)
	if len(hunks) != 3 {
		t.Fatal(short(hunks))
	}
	for i, h := range hunks {
		// A rejected twin is gone from the sandbox: no old id may be found.
		now := apply(t, host, sandbox, hunks, NotAmong([]Hunk{h}))
		for _, id := range idsOf(Compare("/p", host, now)) {
			if slices.Contains(idsOf(hunks), id) {
				t.Errorf("after reject of %d an old id names another hunk", i)
			}
		}
	}
	more := file(block("a", "2") + string(sandbox.Data))
	for _, id := range idsOf(Compare("/p", host, more)) {
		if slices.Contains(idsOf(hunks), id) {
			t.Error("a new twin took an old one's id")
		}
	}
}

func TestIDsStayWhenTheTextChangesElsewhere(t *testing.T) {
	host := file(block("a", "1") + block("b", "1"))
	sandbox := file(block("a", "2") + block("b", "1"))
	id := idsOf(Compare("/p", host, sandbox))[0]
	for what, sides := range map[string][2]Side{
		"agent edits below": {host, file(block("a", "2") + block("b", "9\n9"))},
		"agent edits above": {host, file("x\n" + block("a", "2") + block("b", "1"))},
		"user edits below":  {file(block("a", "1") + block("b", "7")), sandbox},
		"user edits above":  {file("y\n" + string(host.Data)), sandbox},
		"line ends":         {host, file(strings.ReplaceAll(string(sandbox.Data), "\n", "\r\n"))},
		"final newline":     {host, file(strings.TrimSuffix(string(sandbox.Data), "\n"))},
		"byte order mark":   {host, file("\xef\xbb\xbf" + string(sandbox.Data))},
	} {
		if ids := idsOf(Compare("/p", sides[0], sides[1])); !slices.Contains(ids, id) {
			t.Errorf("%s: %v has no %v", what, ids, id)
		}
	}
	for what, sides := range map[string][2]Side{
		"old line":        {file(block("a", "0") + block("b", "1")), sandbox},
		"new line":        {host, file(block("a", "3") + block("b", "1"))},
		"line beside it":  {host, file(strings.Replace(string(sandbox.Data), "a\n2\n", "z\n2\n", 1))},
		"one more before": {host, file(strings.Replace(string(sandbox.Data), "a\n2\n", "a\n0\n2\n", 1))},
	} {
		if ids := idsOf(Compare("/p", sides[0], sides[1])); slices.Contains(ids, id) {
			t.Errorf("%s: still %v", what, id)
		}
	}
	if ids := idsOf(Compare("/q", host, sandbox)); slices.Contains(ids, id) {
		t.Error("another path has the same id")
	}
}

func TestIDsOfWholeHunksNameTheContent(t *testing.T) {
	for what, c := range map[string][3]Side{
		"created": {{}, file("a\n"), file("b\n")},
		"binary":  {file("\x00"), file("\x00a"), file("\x00b")},
		"mode":    {{Type: "dir", Mode: 0o755}, {Type: "dir", Mode: 0o700}, {Type: "dir", Mode: 0o711}},
		"symlink": {{Type: "symlink"}, {Type: "symlink", Target: "a"}, {Type: "symlink", Target: "b"}},
		"type":    {{Type: "symlink"}, file("a\n"), file("b\n")},
		"deleted": {file("a\n"), {}, {}},
	} {
		first, second := Compare("/p", c[0], c[1]), Compare("/p", c[0], c[2])
		if what == "deleted" {
			second = Compare("/p", file("b\n"), c[2])
		}
		if len(first) != 1 || len(second) != 1 || first[0].ID == second[0].ID {
			t.Errorf("%s: %v %v", what, first, second)
		}
	}
}

// TestIDsAreTheSameEverywhere pins the form: two processes, one of them
// perhaps older, must name the same hunk alike.
func TestIDsAreTheSameEverywhere(t *testing.T) {
	got := idsOf(Compare("/p", file("a\nb\nc\n"), Side{Type: "file", Mode: 0o755, Data: []byte("a\nX\nc\n")}))
	want := []string{"317a6f2e7b7e50c8", "fc0cf2782a6e1ff4"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
