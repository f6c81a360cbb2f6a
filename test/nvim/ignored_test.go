package nvim

import (
	"testing"

	"sandbox/internal/nvimtest"
)

// What ignore rules leave out is a folded row with the reasons; opened, the
// files are listed and can be decided on.
func TestIgnoredFilesAreAFoldedRow(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t)
		w.write(".gitignore", []byte("*.log\n"))
		w.write("main.c", []byte("old\n"))
		w.agent("echo new >main.c; echo l >a.log; echo l >b.log; echo s >.main.c.swp", nil)
		w.edit(version)
		s := w.press(":SandboxReview<CR>", "1 file", "block 1/1", "▸ ignored (3)", "2 by .gitignore", "1 built-in noise")
		if s.Contains("a.log") {
			t.Errorf("an ignored file is listed:\n%s", s.Text())
		}
		w.press("<C-W>tG<CR>", "4 files", "a.log", "b.log", ".main.c.swp", "▾ ignored is shown")
		w.press("/a.log<CR>s", "accepted a.log")
		w.sides("after accepting an ignored file", "a.log", []byte("l\n"), []byte("l\n"))
		w.press("G<CR>", "▸ ignored (2)", "1 by .gitignore")
	})
}
