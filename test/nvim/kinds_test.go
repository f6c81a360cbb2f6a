package nvim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox/internal/nvimtest"
	"sandbox/internal/testuser"
)

// stories runs a test as root and as an ordinary user, in both editors.
func stories(t *testing.T, story func(t *testing.T, version string)) {
	testuser.Both(t, func(t *testing.T) { nvimtest.Each(t, story) })
}

func (w *world) exists(name string) bool {
	_, err := os.Lstat(w.path(name))
	return err == nil
}

// What is no edit of lines is decided on with the same keys.
func TestChangesThatAreNoLines(t *testing.T) {
	stories(t, func(t *testing.T, version string) {
		w := newWorld(t)
		w.write("b_mode.sh", []byte("#!/bin/sh\n"))
		w.write("c_eol.txt", []byte("one\ntwo\n"))
		w.write("d_end.txt", []byte("one\ntwo"))
		w.write("e_gone.txt", []byte("one\ntwo\n"))
		w.write("f_data.bin", []byte("a\x00b"))
		w.write("g_old.txt", []byte(strings.Repeat("a line that stays\n", 20)))
		if err := os.Symlink("one", w.path("i_link")); err != nil {
			t.Fatal(err)
		}
		w.agent(`
			printf 'new\ntext\n' >a_new.txt
			chmod +x b_mode.sh
			printf 'one\r\ntwo\r\n' >c_eol.txt
			printf 'one\ntwo\n' >d_end.txt
			rm e_gone.txt
			printf 'a\0c' >f_data.bin
			mv g_old.txt h_new.txt
			ln -sf two i_link`, nil)
		w.edit(version)
		w.press(":SandboxReview demo<CR>", "8 files", "a_new.txt", "block 1/1", "new file")
		w.WaitFor("the new text", nvimtest.Highlighted("text", "DiffAdd"))
		w.press(`\a`, "accepted a_new.txt", "7 files")
		if got, _ := os.ReadFile(w.path("a_new.txt")); string(got) != "new\ntext\n" {
			t.Fatalf("a_new.txt: %q", got)
		}

		w.press("]f", "b_mode.sh", "mode: 0644 → 0755", "mode: 0755")
		w.press(`\a`, "accepted 1 block of b_mode.sh")
		if info, _ := os.Stat(w.path("b_mode.sh")); info.Mode().Perm() != 0o755 {
			t.Fatalf("b_mode.sh has mode %v", info.Mode())
		}

		w.press("]f", "c_eol.txt", "line ends: LF", "line ends: CRLF")
		w.press(`\a`, "accepted 1 block of c_eol.txt")
		if got, _ := os.ReadFile(w.path("c_eol.txt")); string(got) != "one\r\ntwo\r\n" {
			t.Fatalf("c_eol.txt: %q", got)
		}

		w.press("]f", "d_end.txt", "end of file: newline at end")
		w.press(`\r`, "rejected 1 block of d_end.txt")
		w.sides("after the reject", "d_end.txt", []byte("one\ntwo"), []byte("one\ntwo"))

		w.press("]f", "host  e_gone.txt", "block 1/1", "deleted")
		w.press(`\a`, "accepted e_gone.txt")
		if w.exists("e_gone.txt") {
			t.Fatal("e_gone.txt is still there")
		}
		w.press(`\u`, "took back e_gone.txt")
		if !w.exists("e_gone.txt") {
			t.Fatal("e_gone.txt did not come back")
		}
		w.press(`\a`, "accepted e_gone.txt")

		w.press("]f", "f_data.bin", "not shown: binary")
		w.press(`\a`, "accepted 1 block of f_data.bin")
		if got, _ := os.ReadFile(w.path("f_data.bin")); string(got) != "a\x00c" {
			t.Fatalf("f_data.bin: %q", got)
		}

		w.press("]f", "host  g_old.txt", "demo  h_new.txt")
		w.press(`\A`, "accepted h_new.txt")
		if w.exists("g_old.txt") || !w.exists("h_new.txt") {
			t.Fatal("the file was not renamed")
		}

		w.press("]f", "i_link", "→ one", "→ two")
		w.press(`\a`, "of i_link", "nothing left to decide")
		if got, _ := os.Readlink(w.path("i_link")); got != "two" {
			t.Fatalf("i_link points to %s", got)
		}
		if status := string(w.cli("--name", "demo", "status")); strings.Contains(status, "~ ") {
			t.Fatalf("changes are left:\n%s", status)
		}
		w.press("<C-w>tq", "[No Name]")
	})
}

// The panel decides on files, folders and all.
func TestThePanel(t *testing.T) {
	stories(t, func(t *testing.T, version string) {
		w := newWorld(t)
		w.write("top.txt", []byte("1\n"))
		w.write("src/a.txt", []byte("1\n"))
		w.write("src/b.txt", []byte("1\n"))
		w.write("lib/c.txt", []byte("1\n"))
		w.agent(`for f in top.txt src/a.txt src/b.txt lib/c.txt; do echo 2 >$f; done
			mkdir -p .git/hooks; echo 'echo hi' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`, nil)
		w.edit(version)
		w.press(":SandboxReview demo<CR>", "▾ src/", "▾ lib/", "▾ + .git/hooks/", "⚠", "block 1/1")
		if screen := w.Screen().Text(); strings.Contains(screen, "▾ .git") || strings.Contains(screen, "+ hooks") {
			t.Fatalf("a new directory stands there twice:\n%s", screen)
		}
		w.Input("<C-w>t")
		w.press("/src<CR>", "▾ src/")
		w.press("s", "accepted 2 files")
		w.sides("after the folder", "src/a.txt", []byte("2\n"), []byte("2\n"))
		w.sides("after the folder", "src/b.txt", []byte("2\n"), []byte("2\n"))
		w.press("U", "took back 2 files")
		w.sides("after undo", "src/a.txt", []byte("1\n"), []byte("2\n"))
		w.press("/top<CR>X", "rejected top.txt")
		w.sides("after reject", "top.txt", []byte("1\n"), []byte("1\n"))
		w.press("S", "left alone: .git/hooks/pre-commit")
		w.sides("after all", "lib/c.txt", []byte("2\n"), []byte("2\n"))
		if w.exists(".git/hooks/pre-commit") {
			t.Fatal("a hook was accepted with all the rest")
		}
		w.press("/pre-commit<CR>s", "accepted .git/hooks/pre-commit")
		if !w.exists(".git/hooks/pre-commit") {
			t.Fatal("a hook that was picked by hand was not accepted")
		}
	})
}

// What another client does reaches the review.
func TestAnotherClientDecides(t *testing.T) {
	stories(t, func(t *testing.T, version string) {
		w := newWorld(t)
		w.write("a.txt", []byte("1\n"))
		w.write("b.txt", []byte("1\n"))
		w.agent("echo 2 >a.txt; echo 2 >b.txt", nil)
		w.edit(version)
		w.press(":SandboxReview demo<CR>", "2 files", "block 1/1")
		w.cli("--name", "demo", "accept", "a.txt")
		w.WaitFor("the other client's accept", nvimtest.Contains("1 file", "nothing left"))
		if got := w.Lines(0); len(got) == 0 {
			t.Fatal("the pair is empty")
		}
		// It was not this editor's decision, so it cannot take it back.
		w.press(`\u`, "no decision of this editor is left")
		w.sides("after the undo that was refused", "a.txt", []byte("2\n"), []byte("2\n"))
		w.cli("--name", "demo", "undo")
		w.WaitFor("the other client's undo", nvimtest.Contains("2 files", "block 1/1"))
	})
}

// Commands run in the project's own sandbox, and the review finds it.
func TestRunThenReview(t *testing.T) {
	stories(t, func(t *testing.T, version string) {
		w := newWorld(t)
		t.Cleanup(func() { _, _ = w.command("delete", "-y", "project", "project-2").CombinedOutput() })
		w.write("a.txt", []byte("1\n"))
		w.edit(version)
		w.press(":SandboxReview<CR>", "no sandbox has changes here", "SandboxRun")
		w.press(`:SandboxRun sh -c 'echo 2 >a.txt; echo in $SANDBOX "nvim=$NVIM."'<CR>`, "in project nvim=.", "Process exited 0")
		w.Input("<C-\\><C-n>")
		name := nvimtest.Lua[string](w.Editor, "return vim.b.sandbox.name .. ' ' .. vim.bo.buftype")
		if name != "project terminal" {
			t.Fatalf("the terminal's buffer is of %q", name)
		}
		w.press(":SandboxReview<CR>", "project", "1 file", "block 1/1")
		w.press(`\a`, "accepted 1 block of a.txt")
		if got, _ := os.ReadFile(w.path("a.txt")); string(got) != "2\n" {
			t.Fatalf("a.txt: %q", got)
		}
		w.press(`:SandboxRun! true<CR>`, "Process exited 0")
		if _, err := os.Stat(filepath.Join(w.home, ".sandboxes", "project-2")); err != nil {
			t.Fatal("no new sandbox:", err)
		}
	})
}

func TestHealth(t *testing.T) {
	stories(t, func(t *testing.T, version string) {
		w := newWorld(t)
		w.agent("true", nil)
		w.edit(version, nvimtest.Size(130, 60))
		w.Input(":checkhealth sandbox<CR>")
		s := w.WaitFor("the report", nvimtest.Contains("host process answers", "holds 1 sandbox", "namespaces: user"))
		if s.Contains("ERROR") {
			t.Fatalf("the report has errors:\n%s", s.Text())
		}
	})
}
