// Package race holds the tests in which somebody changes the tree while changes
// are taken from it: a program in the sandbox, and another one on the host.
package race

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sandbox/engine"
	"sandbox/engine/fault"
)

// insideVar makes the test binary, run in a sandbox, the program that swaps.
const insideVar = "SANDBOX_TEST_SWAP"

func TestMain(m *testing.M) {
	engine.Reexec(os.Args)
	if dir := os.Getenv(insideVar); dir != "" && os.Getenv("SANDBOX") != "" {
		os.Exit(swapInside(dir))
	}
	os.Exit(m.Run())
}

// world is a project on the host and an engine with a storage beside it.
type world struct {
	*testing.T
	engine *engine.Engine
	home   string
}

func newWorld(t *testing.T) world {
	t.Helper()
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	must(t, err)
	w := world{T: t, home: home}
	w.engine, err = engine.New(w.at(".sandboxes"))
	must(t, err)
	t.Cleanup(func() {
		if err := w.engine.Delete(context.Background(), "s"); err != nil && fault.CodeOf(err) != fault.NoSandbox {
			t.Error(err)
		}
	})
	return w
}

func (w world) at(name string) string { return filepath.Join(w.home, name) }

func (w world) write(name, text string) {
	w.Helper()
	must(w, os.MkdirAll(filepath.Dir(w.at(name)), 0o755))
	must(w, os.WriteFile(w.at(name), []byte(text), 0o640))
}

// run runs a program in the sandbox and returns what it printed.
func (w world) run(stdin *os.File, argv ...string) (string, error) {
	out, err := os.CreateTemp(w.TempDir(), "out")
	if err != nil {
		return "", err
	}
	defer out.Close()
	code, err := w.engine.Run(w.Context(), engine.RunOptions{
		Name: "s", Dir: w.at("p"), Argv: argv, Env: os.Environ(), Stdin: stdin, Stdout: out, Stderr: out,
	})
	text, rerr := os.ReadFile(out.Name())
	if err == nil && code != 0 {
		err = fault.New(fault.Failed, "run", argv[0], string(text), "")
	}
	if err == nil {
		err = rerr
	}
	return string(text), err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
