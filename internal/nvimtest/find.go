package nvimtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Versions are the editors that everything is tested in: the oldest that is
// supported, and today's.
var Versions = []string{"0.10", "0.12"}

// Each runs test once per editor version, as subtests.
func Each(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range Versions {
		t.Run("nvim-"+version, func(t *testing.T) { test(t, version) })
	}
}

// Binary returns the path of the editor of a version: what SANDBOX_NVIM_010 or
// SANDBOX_NVIM_012 names, else the one that scripts/nvim.sh brought into the
// checkout. The test fails when there is none, or when it is another version.
func Binary(tb testing.TB, version string) string {
	tb.Helper()
	variable := "SANDBOX_NVIM_" + strings.ReplaceAll(version, ".", "")
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join(Root(tb), ".cache", "nvim", version, "bin", "nvim")
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		tb.Fatalf("no Neovim %s (%v): run scripts/nvim.sh %s, or set %s", version, err, version, variable)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	if !strings.HasPrefix(first, "NVIM v"+version+".") {
		tb.Fatalf("%s is %q, not Neovim %s", path, first, version)
	}
	return path
}

// Root returns the checkout: the nearest folder above the working directory that
// holds go.mod.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("no go.mod above the working directory")
		}
		dir = parent
	}
}
