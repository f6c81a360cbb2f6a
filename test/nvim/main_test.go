package nvim

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sandbox/internal/testuser"
)

// binVar names the built binary for the tests that run as the ordinary user:
// they could not build it.
const binVar = "SANDBOX_TEST_BIN"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "rpc-host" {
		os.Exit(serveFake())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if testuser.Inside() {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "sandbox-nvim-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)                      //nolint:errcheck // a temporary
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the other user runs what is in it
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin := filepath.Join(dir, "sandbox")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", bin, "sandbox/cmd/sandbox")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
		return 1
	}
	os.Setenv(binVar, bin) //nolint:errcheck // cannot fail
	return m.Run()
}
