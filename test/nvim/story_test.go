package nvim

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"sandbox/internal/nvimtest"
	"sandbox/internal/testuser"
)

// hostile is what an editor has that would change the bytes of a host file if
// the review wrote it: editorconfig (built in, on by default) and a hook.
const (
	editorconfig = "root = true\n[*]\ninsert_final_newline = true\ntrim_trailing_whitespace = true\nend_of_line = lf\ncharset = utf-8\n"
	hook         = `vim.api.nvim_create_autocmd("BufWritePre", { callback = function(a)
		vim.api.nvim_buf_set_lines(a.buf, -1, -1, false, { "FORMATTED" })
	end })`
)

// edits are the four places: a line changed, one added, one removed, the last
// one changed. Each version of the file takes some of them.
func edited(which ...int) []string {
	var out []string
	for n, line := range []string{
		"one", "two  ", "three", "four", "five", "six", "seven", "eight  ", "nine", "ten", "eleven", "twelve caf\u00e9", "thirteen",
	} {
		switch n + 1 {
		case 2:
			if slices.Contains(which, 1) {
				line = "TWO  "
			}
		case 6:
			if slices.Contains(which, 2) {
				out = append(out, "added \u00fcber  ")
			}
		case 9:
			if slices.Contains(which, 3) {
				continue
			}
		case 13:
			if slices.Contains(which, 4) {
				line = "THIRTEEN"
			}
		}
		out = append(out, line)
	}
	return out
}

// formats are ways to write lines as bytes.
var formats = map[string]func([]string) []byte{
	"LF":               func(l []string) []byte { return []byte(strings.Join(l, "\n") + "\n") },
	"CRLF":             func(l []string) []byte { return []byte(strings.Join(l, "\r\n") + "\r\n") },
	"no final newline": func(l []string) []byte { return []byte(strings.Join(l, "\n")) },
	"latin-1":          func(l []string) []byte { return latin1(strings.Join(l, "\n") + "\n") },
}

func latin1(text string) []byte {
	var out bytes.Buffer
	for _, r := range text {
		out.WriteByte(byte(r))
	}
	return out.Bytes()
}

// A user reviews four edits of an agent that still works: takes the second,
// drops the third, takes the rest, and takes all of it back.
func TestAReviewOfFourBlocks(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		nvimtest.Each(t, func(t *testing.T, version string) {
			for format, encode := range formats {
				t.Run(format, func(t *testing.T) { fourBlocks(t, version, encode) })
			}
		})
	})
}

func fourBlocks(t *testing.T, version string, encode func([]string) []byte) {
	w := newWorld(t)
	w.write(".editorconfig", []byte(editorconfig))
	with := func(which ...int) []byte { return encode(edited(which...)) }
	original, all := with(), with(1, 2, 3, 4)
	w.write("notes.txt", original)
	w.agent("cat >notes.txt", all)
	w.background()
	w.edit(version, nvimtest.Init(hook))
	w.sides("before the review", "notes.txt", original, all)

	w.press(":SandboxReview<CR>", "demo", "1 file", "notes.txt", "block 1/4")
	w.WaitFor("the highlight of the blocks", nvimtest.All(
		nvimtest.Highlighted("added über", "DiffAdd"),
		nvimtest.Highlighted("nine", "DiffAdd"),
	))

	w.press("]c", "block 2/4")
	w.press(`\a`, "accepted 1 block of notes.txt", "3 blocks", "1 accepted")
	w.sides("after accepting block 2", "notes.txt", with(2), all)

	w.press("]c", "block 2/3")
	w.WaitFor("the block to be marked", nvimtest.Contains("▌  10 nine"))
	s := w.press(`\r`, "rejected 1 block of notes.txt", "2 blocks", "1 rejected")
	w.sides("after rejecting block 3", "notes.txt", with(2), with(1, 2, 4))
	if n := strings.Count(s.Text(), "nine"); n != 2 {
		t.Fatalf("the rejected line is on the screen %d times, want 2:\n%s", n, s.Text())
	}

	s = w.press(`\A`, "accepted notes.txt", "nothing left", "nothing left to decide")
	w.sides("after accepting the file", "notes.txt", with(1, 2, 4), with(1, 2, 4))
	for _, line := range []string{"TWO", "added über", "THIRTEEN"} {
		if n := strings.Count(s.Text(), line); n != 2 {
			t.Fatalf("%q is on the screen %d times, want 2:\n%s", line, n, s.Text())
		}
	}

	w.press(`\u`, "took back notes.txt", "2 blocks")
	w.sides("after undoing the file", "notes.txt", with(2), with(1, 2, 4))
	w.press(`\u`, "block 2/3")
	w.sides("after undoing the reject", "notes.txt", with(2), all)
	w.Input(`\u`)
	w.WaitFor("the first decision to be taken back", nvimtest.All(nvimtest.Lacks("1 accepted"), nvimtest.Contains("took back")))
	w.sides("after undoing the first block", "notes.txt", original, all)
	w.press(`\u`, "no decision of this editor is left")
	w.sides("after one undo too many", "notes.txt", original, all)
}
