// Package testbin builds the program once for a package's tests, where the
// tests that run as the ordinary user find it too: they could not build it.
package testbin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Var names, in the environment, the directory that holds the built binary.
const Var = "SANDBOX_TEST_BIN"

// Path returns the path of the binary. Main must have run.
func Path() string { return filepath.Join(os.Getenv(Var), "sandbox") }

// Main builds the binary and runs the tests; it is all that a TestMain needs.
func Main(m *testing.M) int {
	if os.Getenv(Var) != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "sandbox-bin-")
	if err == nil {
		defer os.RemoveAll(dir)    //nolint:errcheck // a temporary
		err = os.Chmod(dir, 0o755) //nolint:gosec // the other user runs what is in it
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, "sandbox"), "sandbox/cmd/sandbox")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
		return 1
	}
	os.Setenv(Var, dir) //nolint:errcheck // cannot fail
	return m.Run()
}
