package nvimtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sandbox/internal/nvimtest"
)

func TestTypedTextIsOnTheScreenAndInTheBuffer(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Size(60, 12))
		e.Input("ia <lt>b<CR>second<Esc>")
		s := e.WaitFor("both lines", nvimtest.Contains("a <b", "second"))
		if got := s.Line(0); got != "a <b" {
			t.Errorf("first row = %q", got)
		}
		if s.Width != 60 || s.Height != 12 {
			t.Errorf("the screen is %dx%d", s.Width, s.Height)
		}
		e.WaitFor("the cursor on the second line", nvimtest.CursorLine("second"))
		if got := e.Lines(0); len(got) != 2 || got[1] != "second" {
			t.Errorf("lines = %q", got)
		}
	})
}

func TestTheEditorIsTheVersionThatWasAskedFor(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		e := nvimtest.Start(t, nvimtest.Version(version))
		got := nvimtest.Lua[string](e, "local v = vim.version(); return v.major .. '.' .. v.minor")
		if got != version {
			t.Errorf("version = %s, want %s", got, version)
		}
	})
}

func TestADiffShowsItsGroups(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		dir := t.TempDir()
		left, right := filepath.Join(dir, "left"), filepath.Join(dir, "right")
		write(t, left, "one\ntwo\nthree\nfour\n")
		write(t, right, "one\nTWO\nthree\nfour\nfive\n")
		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Size(80, 14))
		e.Command("set nofoldenable | edit " + left + " | diffthis | vsplit " + right + " | diffthis")
		s := e.WaitFor("the differing line and the added one", nvimtest.All(
			nvimtest.Highlighted("TWO", "DiffText"), nvimtest.Highlighted("five", "DiffAdd")))
		if s.HasGroup("three", "DiffChange") || s.HasGroup("thr", "DiffText") {
			t.Error("an equal line is shown as changed")
		}
		groups := strings.Split(s.Groups(map[string]byte{"DiffAdd": 'A', "DiffText": 'T', "DiffDelete": 'D'}), "\n")
		row, _, _ := s.Find("five")
		if !strings.Contains(groups[row], "AAAA") || !strings.Contains(groups[row], "DDDD") {
			t.Errorf("row of the added line = %q", groups[row])
		}
	})
}

func TestWideAndCombiningCharactersKeepTheirColumns(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Size(40, 6))
		e.Exec("vim.api.nvim_buf_set_lines(0, 0, -1, true, { '世界|e\u0301|x' })")
		s := e.WaitFor("the text", nvimtest.Contains("世界|e\u0301|x"))
		if first, second := s.Cell(0, 0), s.Cell(0, 1); first.Text != "世" || second.Text != "" {
			t.Errorf("the wide character is %q %q", first.Text, second.Text)
		}
		if _, col, _ := s.Find("x"); col != 7 {
			t.Errorf("x is in column %d, want 7", col)
		}
	})
}

func TestScrollingMovesWhatWasDrawn(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Size(40, 10))
		e.Exec(`local l = {}; for i = 1, 200 do l[i] = "line " .. i .. "." end
			vim.api.nvim_buf_set_lines(0, 0, -1, true, l)`)
		for _, step := range []struct{ keys, top string }{
			{"gg", "line 1."},
			{"3<C-e>", "line 4."},
			{"2<C-y>", "line 2."},
			{"G", "line 193."},
			{"5<C-y>", "line 188."},
		} {
			e.Input(step.keys)
			s := e.WaitFor(step.top+" at the top", func(s *nvimtest.Screen) bool { return s.Line(0) == step.top })
			for row := 1; row < s.Height-2; row++ { // every row follows the one above
				var above, here int
				if _, err := fmt.Sscanf(s.Line(row-1)+s.Line(row), "line %d.line %d.", &above, &here); err != nil || here != above+1 {
					t.Fatalf("after %s:\n%s", step.keys, s.Text())
				}
			}
		}
	})
}

func TestTheHomeIsPrivate(t *testing.T) {
	t.Setenv("NVIM", "/nowhere")
	t.Setenv("VIMRUNTIME", "/nowhere")
	nvimtest.Each(t, func(t *testing.T, version string) {
		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Env("SANDBOX_X=y"))
		for _, kind := range []string{"config", "data", "state", "cache"} {
			got := nvimtest.Lua[string](e, "return vim.fn.stdpath(...)", kind)
			if !strings.HasPrefix(got, e.Home+"/") {
				t.Errorf("%s is in %s", kind, got)
			}
		}
		if got := nvimtest.Lua[string](e, "return (os.getenv('NVIM') or '') .. os.getenv('SANDBOX_X')"); got != "y" {
			t.Errorf("environment = %q", got)
		}
	})
}

func TestInitRunsBeforePluginsAndPluginIsInThePath(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Plugin(),
			nvimtest.Init("-- a comment\nvim.g.from_init = 'two  blanks'"))
		if got := nvimtest.Lua[string](e, "return vim.g.from_init"); got != "two  blanks" {
			t.Errorf("g:from_init = %q", got)
		}
		first := nvimtest.Lua[string](e, "return vim.opt.runtimepath:get()[1]")
		if first != nvimtest.Root(t) {
			t.Errorf("runtimepath begins with %s", first)
		}
	})
}

func TestNothingIsLeftOver(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		var pid int
		var home string
		t.Run("an editor", func(t *testing.T) {
			e := nvimtest.Start(t, nvimtest.Version(version))
			e.Command("terminal sleep 1000")
			e.WaitLua("the terminal", "return vim.bo.buftype == 'terminal'")
			pid, home = e.Pid(), e.Home
		})
		if err := syscall.Kill(pid, 0); err == nil {
			t.Error("the editor is still there")
		}
		if _, err := os.Lstat(home); !os.IsNotExist(err) {
			t.Errorf("its home is still there: %v", err)
		}
	})
}

func TestAnotherUserRunsIt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run an editor as somebody else")
	}
	nvimtest.Each(t, func(t *testing.T, version string) {
		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.User(65534, 65534))
		e.Input(":write note<CR>")
		e.WaitFor("the write", nvimtest.Contains("written"))
		info, err := os.Stat(filepath.Join(e.Home, "note"))
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 65534 {
			t.Errorf("the file's owner is %d", owner)
		}
	})
}

func TestAPictureOfTheScreen(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Size(40, 8))
		e.Exec("vim.api.nvim_buf_set_lines(0, 0, -1, true, { '│ ├─┤ ▾ src → 世 ⚠' })")
		s := e.WaitFor("the text", nvimtest.Contains("世"))
		picture := s.Picture(nvimtest.Fonts(), 14)
		background := picture.At(0, 0)
		bounds, drawn := picture.Bounds(), 0
		for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
			for x := bounds.Min.X; x < bounds.Max.X; x++ {
				if picture.At(x, y) != background {
					drawn++
				}
			}
		}
		if drawn < 200 {
			t.Errorf("only %d points are not background", drawn)
		}
		path := filepath.Join(t.TempDir(), "screen.png")
		if err := s.WritePNG(path, nvimtest.Fonts(), 14); err != nil {
			t.Fatal(err)
		}
		head, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(head), "\x89PNG") {
			t.Errorf("not a picture: %v", err)
		}
	})
}

func TestBinaryRefusesAnotherVersion(t *testing.T) {
	if os.Getenv("NVIMTEST_WANT_FAILURE") != "" {
		t.Setenv("SANDBOX_NVIM_012", nvimtest.Binary(t, "0.10"))
		nvimtest.Binary(t, "0.12")
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "NVIMTEST_WANT_FAILURE=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "not Neovim 0.12") {
		t.Errorf("err = %v, output:\n%s", err, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
