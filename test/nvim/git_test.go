package nvim

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sandbox/internal/nvimtest"
)

// A commit made inside is one row with a summary; "accept all" leaves it, its
// own key takes it, and the undo key gives it back.
func TestARepositoryIsOneRow(t *testing.T) {
	nvimtest.Each(t, func(t *testing.T, version string) {
		w := newWorld(t)
		w.write("main.c", []byte("old\n"))
		identity := []string{
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "HOME=" + w.home,
		}
		git := func(args ...string) string {
			t.Helper()
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = w.dir, append(os.Environ(), identity...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
			return string(out)
		}
		git("init", "-q", "-b", "main")
		git("add", ".")
		git("commit", "-qm", "first")
		w.agent("export "+strings.Join(identity[:6], " ")+"; echo new >main.c; git commit -qam second", nil)
		w.edit(version)
		s := w.press(":SandboxReview<CR>", "main.c", ".git")
		if s.Contains("objects/") {
			t.Errorf("the files of the repository are listed:\n%s", s.Text())
		}
		w.press("<C-W>tS", "accepted", ".git")
		if strings.Contains(git("log", "--oneline"), "second") {
			t.Error("accepting all took the repository")
		}
		w.press("<C-W>t/\\.git<CR><CR>", "git: 3 new objects, branch main moved", "4   moved main")
		w.press("<C-W>ts", "nothing left")
		if !strings.Contains(git("log", "--oneline"), "second") {
			t.Error("its own key did not take it")
		}
		git("fsck", "--strict")
		if out := git("status", "--porcelain"); out != "" {
			t.Errorf("after accepting everything: %s", out)
		}
		w.press("<C-W>tU", "3 new objects")
		if strings.Contains(git("log", "--oneline"), "second") {
			t.Error("the undo key did not give it back")
		}
	})
}
