package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sandbox/internal/testbin"
	"sandbox/internal/testuser"
)

// The directories above a project may belong to somebody else. In a user
// namespace a stand-in is put in their place, which is nobody's change.
func TestAProjectBelowAnotherUsersDirectories(t *testing.T) {
	if os.Getuid() != 0 || testuser.Inside() {
		t.Skip("only root can make directories of another user")
	}
	top, err := os.MkdirTemp("", "theirs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	home := filepath.Join(top, "deep", "mine")
	as := testuser.Credential(t)
	for _, err := range []error{
		os.MkdirAll(home, 0o755), os.Chmod(top, 0o755), //nolint:gosec // others must be able to search it
		os.Chown(home, int(as.Credential.Uid), int(as.Credential.Gid)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	sandbox := func(args ...string) string {
		cmd := exec.Command(testbin.Path(), args...)
		cmd.Dir, cmd.SysProcAttr = home, as
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	sandbox("sh", "-c", "echo x > made; mkdir d; echo y > d/f")
	t.Cleanup(func() { sandbox("delete", "-y") })
	if out := sandbox("status", "/"); strings.Contains(out, "../") {
		t.Errorf("status names directories that nobody changed:\n%s", out)
	}
	sandbox("accept", "/")
	if text, err := os.ReadFile(filepath.Join(home, "d", "f")); err != nil || string(text) != "y\n" {
		t.Errorf("accepted: %q %v", text, err)
	}
}
