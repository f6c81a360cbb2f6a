// Package run tests that a command in a sandbox behaves as it would without
// one, and that nothing of the host is touched: real namespaces, as root and
// as an ordinary user.
package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandbox/engine"
	"sandbox/engine/fault"
	"sandbox/engine/initproc"
	"sandbox/engine/keeper"
	"sandbox/engine/launch"
	"sandbox/engine/store"
)

// TestMain makes this binary the client, the init and the keeper as well.
func TestMain(m *testing.M) {
	initproc.Main(os.Args[0])
	switch os.Args[0] {
	case launch.KeeperName:
		os.Exit(keeper.Main(os.Args[1:]))
	case "stop":
		if err := launch.Stop(store.At(os.Args[1], os.Args[2])); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "client":
		os.Exit(client(os.Args[1], os.Args[2], os.Args[3:]))
	}
	if os.Getenv("TEST_SLEEP") != "" { // it was executed under a name of a test's own
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// client is `sandbox --storage-dir S --name N CMD…` without its options.
func client(storage, name string, argv []string) int {
	e := engine.Engine{Storage: storage}
	code, err := e.Run(context.Background(), engine.RunOptions{
		Name: name, Net: os.Getenv("TEST_NET"), Argv: argv, Env: os.Environ(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err, fault.HintOf(err))
	}
	return code
}

// box is one sandbox of a test.
type box struct {
	t       *testing.T
	storage string
	home    string // the test's private HOME, on the host
	binary  string // the program that clients run; "" for this one
}

func newBox(t *testing.T) *box {
	t.Helper()
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	if err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, storage: filepath.Join(home, ".sandboxes"), home: home}
	t.Cleanup(b.clean)
	return b
}

// clean stops the sandbox and removes it, which RemoveTree must be able to do.
func (b *box) clean() {
	if err := launch.Stop(b.dir()); err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Errorf("stop: %v", err)
	}
	b.keeperGone()
	if err := store.RemoveTree(b.storage); err != nil {
		b.t.Errorf("remove the storage: %v", err)
	}
}

func (b *box) dir() store.Dir { return store.At(b.storage, "box") }

func (b *box) keeperGone() {
	b.wait("the keeper to end", func() bool { return !store.Held(b.dir().Path(launch.KeeperLock)) })
}

func (b *box) wait(what string, ok func() bool) {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("waited 10 s for %s", what)
		}
	}
}

// command is a client that is not started yet, in the test's home.
func (b *box) command(argv ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	if b.binary != "" {
		self = b.binary
	}
	c := exec.Command(self)
	c.Args = append([]string{"client", b.storage, "box"}, argv...)
	c.Dir = b.home
	return c
}

// run runs a command and returns what it wrote and its exit code.
func (b *box) run(argv ...string) (stdout, stderr string, code int) {
	b.t.Helper()
	var out, errs bytes.Buffer
	c := b.command(argv...)
	c.Stdout, c.Stderr = &out, &errs
	code = exitOf(b.t, c.Run())
	return out.String(), errs.String(), code
}

// sh runs a shell line that must succeed, and returns its output.
func (b *box) sh(script string) string {
	b.t.Helper()
	out, errs, code := b.run("sh", "-c", script)
	if code != 0 {
		b.t.Fatalf("%s: exit %d\n%s%s", script, code, out, errs)
	}
	return strings.TrimSpace(out)
}

func exitOf(t *testing.T, err error) int {
	t.Helper()
	var ee *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ee):
		return ee.ExitCode()
	default:
		t.Fatal(err)
		return -1
	}
}

func (b *box) file(name, content string) string {
	b.t.Helper()
	p := filepath.Join(b.home, name)
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil { //nolint:gosec // a test's file
		b.t.Fatal(err)
	}
	return p
}

func (b *box) content(path string) string {
	b.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(data)
}
