package nvim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandbox/internal/nvimtest"
)

// The user edited the file that the agent changes too: what is only the user's
// is no block, and where both changed a line, the block says so.
func TestBothSidesEdited(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t)
		text := func(edit ...string) []byte {
			return []byte(strings.NewReplacer(edit...).Replace("aa\nbb\ncc\ndd\nee\nff\ngg\nhh\nii\njj\nkk\nll\n"))
		}
		w.write("notes.txt", text())
		w.agent("cat >notes.txt", text("dd", "DD", "kk", "KK"))
		w.captured()
		w.write("notes.txt", text("gg", "gg\nmine", "kk", "yours"))
		w.edit(version)

		w.press(":SandboxReview<CR>", "demo", "notes.txt", "block 1/2")
		w.WaitFor("the user's own line to be coloured", nvimtest.Highlighted("mine", "DiffAdd"))
		w.press("]c", "block 2/2", "conflict with host")
		w.press("[c", "block 1/2")
		w.press(`\a`, "accepted 1 block of notes.txt", "1 block")
		w.sides("after accepting the first block", "notes.txt",
			text("gg", "gg\nmine", "dd", "DD", "kk", "yours"), text("dd", "DD", "kk", "KK"))
		w.press("]c", "block 1/1", "conflict with host")
		w.press(`\r`, "rejected 1 block of notes.txt", "nothing left")
		w.sides("after rejecting the conflict", "notes.txt",
			text("gg", "gg\nmine", "dd", "DD", "kk", "yours"), text("dd", "DD", "kk", "yours"))
	})
}

// captured waits until the sandbox's keeper, which starts a moment after it,
// has written down what the host had.
func (w *world) captured() {
	w.t.Helper()
	log := filepath.Join(w.home, ".sandboxes", "demo", "base", "log")
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if st, err := os.Stat(log); err == nil && st.Size() > 0 {
			return
		}
	}
	w.t.Fatal("the keeper wrote nothing down")
}
