package nvim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sandbox/internal/nvimtest"
)

// What is highlighted must be what would be accepted: for pairs of texts that
// nobody picked, the lines that diff mode marks are those of the engine's blocks.
func TestTheHighlightIsTheBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	files := map[string][2]string{}
	for i := range 40 {
		var sides [2]string
		var host []string
		for range random.IntN(30) {
			host = append(host, []string{"", "a", "b", "  a", "\tb", "}", "{", "a b", "c"}[random.IntN(9)])
		}
		var sandbox []string
		for _, line := range host {
			switch random.IntN(8) {
			case 0:
			case 1:
				sandbox = append(sandbox, line, "a")
			case 2:
				sandbox = append(sandbox, strings.ToUpper(line)+" ")
			default:
				sandbox = append(sandbox, line)
			}
		}
		for n, lines := range [][]string{host, sandbox} {
			if sides[n] = strings.Join(lines, "\n"); len(lines) > 0 && random.IntN(4) > 0 {
				sides[n] += "\n"
			}
		}
		if sides[0] != sides[1] {
			files[fmt.Sprintf("f%02d.txt", i)] = sides
		}
	}
	const wrong = `
local session = require("sandbox.review.session").in_tab()
local out = {}
for _, side in ipairs({ "host", "sandbox" }) do
	vim.api.nvim_win_call(session.wins[side], function()
		local mine = {}
		for _, hunk in ipairs(session.file.hunks) do
			for line = hunk[side][1], hunk[side][1] + hunk[side][2] - 1 do mine[line] = true end
		end
		local empty = session.file[side].text == ""
		for line = 1, empty and 0 or vim.fn.line("$") do
			if (vim.fn.diff_hlID(line, 1) > 0) ~= (mine[line] or false) then
				table.insert(out, ("%s %s %d: %s, %s, %s"):format(vim.fs.basename(session.file.path), side, line,
					vim.inspect(session.file.hunks, { newline = "", indent = "" }), vim.inspect(session.file.host.text), vim.inspect(session.file.sandbox.text)))
			end
		end
	end)
end
return table.concat(out, "; ")`
	nvimtest.Each(t, func(t *testing.T, version string) {
		b := fakeReview(t, version, files, nvimtest.Init(`vim.opt.diffopt:append("iwhiteall,iblank,algorithm:patience")`))
		b.open()
		for range len(files) {
			before := nvimtest.Lua[string](b.Editor, `return require("sandbox.review.session").in_tab().file.path`)
			if got := nvimtest.Lua[string](b.Editor, wrong); got != "" {
				t.Errorf("highlighted otherwise than cut: %s", got)
			}
			b.Input("]f")
			b.WaitLua("the next file", `
				local s = require("sandbox.review.session").in_tab()
				return not s.busy and (s.file.path ~= ... or s.list.files[#s.list.files].path == s.file.path)`, before)
		}
	})
}

// The review can be all that there is, and its windows may come off a pinned one.
func TestTheReviewStandsByItself(t *testing.T) {
	both(t, func(b *bench) {
		b.Command("edit a.txt")
		b.Command("set winfixbuf")
		b.open()
		b.Command("tabonly")
		b.press(`\a`, "accepted 1 block")
		b.Input("<C-w>tq")
		b.WaitLua("the review is closed", `return require("sandbox.review.session").by_name("demo") == nil and #vim.api.nvim_list_wins() == 1`)
		b.holds(b.host("a.txt"), strings.Replace(before, "one", "ONE", 1))
		b.open()
		b.WaitFor("the review again", nvimtest.Contains("block 1/2"))
	})
}

// A swap file of another editor is no question that nobody sees.
func TestAFileThatIsOpenInAnotherEditor(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		b := fakeReview(t, version, map[string][2]string{"a.txt": {before, after}})
		// The harness starts editors with -n; 'updatecount' takes that back.
		other := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Dir(b.dir))
		other.Command("set updatecount=100 directory=. swapfile")
		other.Command("edit a.txt")
		other.Command("doautocmd CursorHold")
		other.Input("ix<Esc>:preserve<CR>")
		other.WaitLua("the swap file", `return vim.fn.filereadable(vim.fn.swapname(0)) == 1`)
		b.Command("set updatecount=100 directory=. swapfile")
		b.open()
		b.press(`\a`, "accepted 1 block")
		b.holds(b.host("a.txt"), strings.Replace(before, "one", "ONE", 1))
	})
}

// A colour scheme and a resize while the review is open.
func TestTheScreenChanges(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		if err := b.Client().TryResizeUI(90, 20); err != nil {
			t.Fatal(err)
		}
		b.Command("colorscheme habamax")
		b.WaitFor("the smaller screen", nvimtest.Contains("block 1/3", "a.txt"))
		b.WaitLua("the groups", `return vim.api.nvim_get_hl(0, { name = "SandboxTitle" }).link == "Title"`)
		b.press(`\a`, "accepted 1 block")
	})
}

// Side by side, or one above the other.
func TestTheLayoutIsToggled(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		b.Exec(`vim.keymap.set("n", "<F5>", "<Plug>(sandbox-toggle-layout)")`)
		b.Input("<F5>")
		b.WaitFor("one above the other", func(s *nvimtest.Screen) bool {
			top, column, ok := s.Find("host  a.txt")
			bottom, other, ok2 := s.Find("demo  a.txt")
			return ok && ok2 && top < bottom && column == other
		})
		b.press("]c", "block 2/3")
		b.press(`\a`, "accepted 1 block")
		b.holds(b.host("a.txt"), middle)
	})
}
