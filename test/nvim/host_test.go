package nvim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox/internal/nvimtest"
)

// bench is a review over the fake backend.
type bench struct {
	*nvimtest.Editor
	t     *testing.T
	dir   string // the project
	store string
}

// fakeReview starts an editor in a project whose sandbox is "demo". The files
// are given as host and sandbox text.
func fakeReview(t *testing.T, version string, files map[string][2]string, options ...nvimtest.Option) *bench {
	t.Helper()
	root := t.TempDir()
	b := &bench{t: t, dir: filepath.Join(root, "project"), store: filepath.Join(root, "store")}
	for name, sides := range files {
		b.write(b.host(name), sides[0])
		b.write(b.sandbox(name), sides[1])
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	options = append([]nvimtest.Option{
		nvimtest.Version(version), nvimtest.Plugin(), nvimtest.Dir(b.dir), nvimtest.Size(120, 30),
		nvimtest.Env(fakeStore + "=" + b.store),
		nvimtest.Init("vim.g.sandbox = { bin = '" + self + "' }"),
	}, options...)
	b.Editor = nvimtest.Start(t, options...)
	return b
}

func (b *bench) host(name string) string    { return filepath.Join(b.dir, name) }
func (b *bench) sandbox(name string) string { return filepath.Join(b.store, "demo") + b.host(name) }

func (b *bench) write(path, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) holds(path, want string) {
	b.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if string(got) != want {
		b.t.Fatalf("%s holds\n%q, want\n%q", path, got, want)
	}
}

// open opens the review and waits for its first block.
func (b *bench) open() {
	b.t.Helper()
	b.Command("SandboxReview demo")
	b.WaitFor("the review", nvimtest.Contains("block 1/"))
}

// press types keys and waits for a text on the screen.
func (b *bench) press(keys, text string) *nvimtest.Screen {
	b.t.Helper()
	b.Input(keys)
	return b.WaitFor(text+" after "+keys, nvimtest.Contains(text))
}

const (
	before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
	after  = "ONE\ntwo\nthree\nfour\nFIVE\nadded\nsix\nseven\neight\nten\n"
	middle = "one\ntwo\nthree\nfour\nFIVE\nadded\nsix\nseven\neight\nnine\nten\n"
)

// both runs a test in each editor with one changed file.
func both(t *testing.T, test func(b *bench), options ...nvimtest.Option) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		test(fakeReview(t, version, map[string][2]string{"a.txt": {before, after}}, options...))
	})
}

func TestKeysThatArePressedDuringADecisionWaitForIt(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		b.Input(`]c\a]c\a[c`)
		b.WaitFor("two accepted", nvimtest.Contains("2 accepted"))
		b.holds(b.host("a.txt"), strings.Replace(middle, "nine\n", "", 1))
		b.holds(b.sandbox("a.txt"), after)
	})
}

func TestVisualModeTakesTheBlocksThatItTouches(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		// From inside the second block over the third, in the sandbox's window.
		b.press(`6GVG\a`, "accepted 2 blocks of a.txt")
		b.holds(b.host("a.txt"), strings.Replace(after, "ONE", "one", 1))
	})
}

func TestTheHostsWindowDecidesToo(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		b.Input("<C-w>h9G")
		b.WaitFor("the third block", nvimtest.Contains("block 3/3"))
		b.press(`\r`, "rejected 1 block of a.txt")
		b.holds(b.host("a.txt"), before)
		b.holds(b.sandbox("a.txt"), strings.Replace(after, "eight\n", "eight\nnine\n", 1))
	})
}

func TestUndoAndRedo(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		b.press("]c", "block 2/3")
		b.press(`\a`, "accepted 1 block")
		b.press(`\u`, "took back a.txt")
		b.holds(b.host("a.txt"), before)
		b.Command("wincmd t")
		b.press("<C-r>", "accepted 1 block")
		b.holds(b.host("a.txt"), middle)
	})
}

func TestOutsideOfABlockNothingIsDecided(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		b.press(`3G\a`, "no block is under the cursor")
		b.press(`3G\r`, "no block is under the cursor")
		b.holds(b.host("a.txt"), before)
		b.holds(b.sandbox("a.txt"), after)
	})
}

func TestUnsavedTextOfTheHostIsNotOverwritten(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		b.Input("<C-w>h3Gccmine<Esc>1G")
		b.WaitFor("the note", nvimtest.Contains("unsaved"))
		b.press(`\a`, "unsaved edits")
		b.Input("<C-w>t")
		b.press(`S`, "a.txt has unsaved edits")
		b.holds(b.host("a.txt"), before)
		// Undone, the block is there again.
		b.Input("<C-w>l1Gu")
		b.WaitFor("the blocks", nvimtest.Contains("3 blocks"))
		b.press(`1G\a`, "accepted 1 block")
		b.holds(b.host("a.txt"), strings.Replace(before, "one", "ONE", 1))
	})
}

func TestTheUsersOwnSaveIsComparedAnew(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		b.Input("<C-w>h1GccONE<Esc>:w<CR>")
		b.WaitFor("one block less", nvimtest.Contains("2 blocks"))
		b.press(`5G\a`, "accepted 1 block")
		b.holds(b.host("a.txt"), strings.Replace(middle, "one", "ONE", 1))
	})
}

func TestAStaleDecisionWritesNothing(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		agent := strings.Replace(after, "ONE", "UNO", 1)
		b.write(b.sandbox("a.txt"), agent)
		b.press(`\a`, "nothing was written")
		b.WaitFor("the new text", nvimtest.Contains("UNO"))
		b.holds(b.host("a.txt"), before)
		b.press(`1G\a`, "accepted 1 block")
		b.holds(b.host("a.txt"), strings.Replace(before, "one", "UNO", 1))
	})
}

func TestWritingTheSandboxesBufferWritesTheSandbox(t *testing.T) {
	both(t, func(b *bench) {
		b.open()
		b.Input("1GccUno<Esc>")
		b.press(`\a`, "unsaved edits")
		b.press(":w<CR>", "wrote")
		b.holds(b.sandbox("a.txt"), strings.Replace(after, "ONE", "Uno", 1))
		b.press(`1G\a`, "accepted 1 block")
		b.holds(b.host("a.txt"), strings.Replace(before, "one", "Uno", 1))
	})
}

func TestForeignTextIsQuiet(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		b := fakeReview(t, version, map[string][2]string{
			"a.sh": {"echo 1\n", "echo 2\n# vim: set ts=3 sw=3 ft=python:\n"},
		}, nvimtest.Init(`
			vim.o.modeline = true
			vim.g.seen = {}
			for _, event in ipairs({ "FileType", "BufReadPost", "BufWritePre", "BufWritePost", "Syntax" }) do
				vim.api.nvim_create_autocmd(event, { callback = function(a)
					if vim.api.nvim_buf_get_name(a.buf):match("^sandbox:") and event ~= "Syntax" then
						vim.g.seen = vim.list_extend(vim.g.seen, { event })
					end
				end })
			end`))
		b.open()
		b.press("ggccecho 3<Esc>:w<CR>", "wrote")
		got := nvimtest.Lua[string](b.Editor, `
			local o = vim.bo
			return vim.inspect({ o.filetype, o.tabstop, o.swapfile, o.modeline, o.buftype, o.undofile, vim.g.seen }, { newline = "" })`)
		if want := `{ "", 8, false, false, "acwrite", false, {} }`; got != want {
			t.Fatalf("the sandbox's buffer: %s, want %s", got, want)
		}
	})
}

func TestADeadHostIsReportedAndStartedAgain(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		b := fakeReview(t, version, map[string][2]string{
			"a.txt": {before, after}, "b.panic": {"x\n", "y\n"}, "c.die": {"x\n", "y\n"},
		})
		b.open()
		b.press("]f", "internal error: as asked")
		b.press("<C-w>tGk<CR>", "internal error")
		b.press("G<CR>", "the sandbox host process ended (exit code 9)")
		b.Input("<C-w>tgg3j<CR>")
		b.WaitLua("the first file", `return vim.api.nvim_buf_get_name(0):match("^sandbox://.*a.txt") ~= nil`)
		b.press(`\a`, "accepted 1 block")
		b.holds(b.host("a.txt"), strings.Replace(before, "one", "ONE", 1))
	})
}

func TestNoBinaryIsOneSentence(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		for name, test := range map[string]struct{ bin, want string }{
			"not there": {"/no/such/sandbox", "vim.g.sandbox.bin is /no/such/sandbox, which cannot be run"},
			"no host":   {"/bin/false", "/bin/false does not answer as a host"},
		} {
			t.Run(name, func(t *testing.T) {
				e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Plugin(), nvimtest.Size(120, 20),
					nvimtest.Init("vim.g.sandbox = { bin = '"+test.bin+"' }"))
				e.Input(":SandboxReview<CR>")
				e.WaitFor("the message", nvimtest.Contains(test.want))
				e.Input(":SandboxReview x<CR>")
				e.WaitFor("the message", nvimtest.Contains(test.want))
			})
		}
	})
}

func TestDiffModeShowsTheEnginesBlocksWhateverTheOptions(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		b := fakeReview(t, version, map[string][2]string{
			"a.txt": {"a\n  x = 1\nb\nc\n", "a\nx = 1\nb\nc \nnew\n"},
		}, nvimtest.Init(`vim.opt.diffopt:append("iwhite,linematch:60,context:0")`))
		b.open()
		s := b.WaitFor("both blocks", nvimtest.All(
			nvimtest.Contains("block 1/2"),
			nvimtest.Highlighted("new", "DiffAdd"),
		))
		if !s.Contains("  x = 1") || !s.Contains("b  ") {
			t.Fatalf("lines are folded away:\n%s", s.Text())
		}
		b.press(`\a`, "accepted 1 block")
		b.holds(b.host("a.txt"), "a\nx = 1\nb\nc\n")
		b.Command("tabfirst")
		if got := nvimtest.Lua[string](b.Editor, "return vim.o.diffopt .. vim.o.diffexpr"); !strings.HasSuffix(got, "iwhite,linematch:60,context:0") {
			t.Fatalf("options in the user's tab: %s", got)
		}
	})
}
