// Package kinds holds the tables of what can become of an entry: every kind into
// every other one, attributes, links, names, directories that move. What a
// program did in a real sandbox is listed, accepted, rejected and taken back,
// and both sides are compared entry by entry.
package kinds

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine"
	"sandbox/engine/apply"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// insideVar makes the test binary, run in a sandbox, the program that works on
// the project: it holds what is to be done.
const insideVar = "SANDBOX_TEST_KINDS"

func TestMain(m *testing.M) {
	engine.Reexec(os.Args)
	if what := os.Getenv(insideVar); what != "" && os.Getenv("SANDBOX") != "" {
		os.Exit(inside(what, os.Args[1]))
	}
	os.Exit(m.Run())
}

// inside is the program in the sandbox.
func inside(what, dir string) int {
	unix.Umask(0o022)
	act := func() error { return printTree(os.Stdout, dir) }
	if what != "print" {
		act = func() error { return buildBox(what, dir) }
	}
	if err := act(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// world is a project on the host and an engine with a storage beside it.
type world struct {
	*testing.T
	engine *engine.Engine
	dir    string // the project
	down   bool   // the sandbox is stopped before each decision
}

func newWorld(t *testing.T, down bool) world {
	t.Helper()
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	must(t, err)
	w := world{T: t, dir: filepath.Join(home, "project"), down: down}
	w.engine, err = engine.New(filepath.Join(home, ".sandboxes"))
	must(t, err)
	must(t, os.Mkdir(w.dir, 0o755)) //nolint:gosec // a project like others
	t.Cleanup(func() {
		if err := w.engine.Delete(context.Background(), "s"); err != nil && fault.CodeOf(err) != fault.NoSandbox {
			t.Error(err)
		}
		openAll(w.dir)
	})
	return w
}

// run runs this test binary in the sandbox and returns what it printed.
func (w world) run(what string) string {
	w.Helper()
	out, err := os.Create(filepath.Join(w.TempDir(), "out"))
	must(w, err)
	defer out.Close()
	self, err := os.Executable()
	must(w, err)
	code, err := w.engine.Run(w.Context(), engine.RunOptions{
		Name: "s", Dir: w.dir, Argv: []string{self, w.dir}, Env: append(os.Environ(), insideVar+"="+what), Stdout: out, Stderr: out,
	})
	text, rerr := os.ReadFile(out.Name())
	if err != nil || code != 0 || rerr != nil {
		w.Fatalf("%s: %d %v %v\n%s", what, code, err, rerr, text)
	}
	return string(text)
}

// view is the tree that programs in the sandbox see, host the one outside.
func (w world) view() tree { w.Helper(); return parseTree(w, w.run("print")) }

func (w world) host() tree {
	w.Helper()
	var b strings.Builder
	must(w, printTree(&b, w.dir))
	return parseTree(w, b.String())
}

// rows is what status lists, "kind path" or "kind path <- from", below the project.
func (w world) rows() []string {
	w.Helper()
	found, err := w.engine.Changes(w.Context(), "s", engine.Query{Dir: w.dir, Ignored: true})
	must(w, err)
	var out []string
	for _, c := range found.Matching {
		row := string(c.Kind) + " " + w.rel(c.Path)
		if c.From != "" {
			row += " <- " + w.rel(c.From)
		}
		if c.Conflict {
			row += " !"
		}
		out = append(out, row)
	}
	return out
}

func (w world) rel(path string) string { return strings.TrimPrefix(path, w.dir+"/") }

// everything is a decision on all that changed.
func (w world) everything(special bool) engine.DecideOptions {
	return engine.DecideOptions{Query: engine.Query{Dir: w.dir, Ignored: true}, Sensitive: true, Special: special}
}

// settle brings the sandbox into the state in which decisions are to be made.
func (w world) settle() {
	w.Helper()
	if w.down {
		must(w, w.engine.Stop(w.Context(), "s"))
	}
}

func (w world) accept(o engine.DecideOptions) apply.Result {
	w.Helper()
	w.settle()
	r, err := w.engine.Accept(w.Context(), "s", o)
	must(w, err)
	return r
}

func (w world) reject(o engine.DecideOptions) apply.Result {
	w.Helper()
	w.settle()
	r, err := w.engine.Reject(w.Context(), "s", o)
	must(w, err)
	return r
}

func (w world) undo() {
	w.Helper()
	w.settle()
	_, err := w.engine.Undo(w.Context(), "s", "")
	must(w, err)
}

// noTemporaries looks for names of ours on both sides.
func (w world) noTemporaries(trees ...tree) {
	w.Helper()
	for _, t := range trees {
		for path := range t {
			if strings.Contains(path, rootfs.TempPrefix) {
				w.Errorf("a temporary is left: %s", path)
			}
		}
	}
}

// states runs a test with the sandbox up and with the sandbox down.
func states(t *testing.T, body func(w world)) {
	t.Helper()
	for _, down := range []bool{false, true} {
		name := "running"
		if down {
			name = "stopped"
		}
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			body(newWorld(t, down))
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
