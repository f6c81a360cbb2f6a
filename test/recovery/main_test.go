// Package recovery kills the program while it accepts, rejects and takes back,
// and looks at what the next command makes of it.
package recovery

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandbox/internal/testbin"
)

func TestMain(m *testing.M) { os.Exit(testbin.Main(m)) }

// world is a project on the host and a sandbox that changed it.
type world struct {
	*testing.T
	dir string // the project
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, dir: filepath.Join(home, "project")}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd := w.command("delete", "-y")
		cmd.Dir = "/"
		_ = cmd.Run() // the test has done it, when it came to its end
	})
	return w
}

// command is a call of the program, in the project.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(testbin.Path(), append([]string{"--name", "s"}, args...)...)
	cmd.Dir = w.dir
	return cmd
}

// sandbox runs the program and gives its exit code and all that it printed.
func (w *world) sandbox(args ...string) (int, string) {
	w.Helper()
	out, err := w.command(args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	if exit != nil {
		return exit.ExitCode(), string(out)
	}
	return 0, string(out)
}

// do is sandbox for what has to work.
func (w *world) do(args ...string) string {
	w.Helper()
	code, out := w.sandbox(args...)
	if code != 0 {
		w.Fatalf("sandbox %v: exit %d\n%s", args, code, out)
	}
	return out
}

// host runs a script in the project.
func (w *world) host(script string) {
	w.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("%v\n%s", err, out)
	}
}

// killed starts a command and kills it after a while; true when it had ended
// by then.
func (w *world) killed(after time.Duration, args ...string) (ended bool) {
	w.Helper()
	cmd := w.command(args...)
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	time.Sleep(after) // the moment is what is tried
	_ = cmd.Process.Signal(syscall.SIGKILL)
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Sys().(syscall.WaitStatus).Signaled() && exit.ExitCode() != 3 {
		w.Fatalf("sandbox %v: %v", args, err)
	}
	return err == nil
}

// tree describes what is below a directory: names, modes, times and contents
// of all but directories, and no temporaries.
func (w *world) tree(dir string) map[string]string {
	w.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if strings.HasPrefix(d.Name(), ".sandbox-tmp-") {
			w.Errorf("%s is left", path)
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		text := st.Mode().String()
		switch {
		case st.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %d %x", st.ModTime().UnixNano(), sha256.Sum256(data))
		case st.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			text += " -> " + to
		}
		tree[path[len(dir):]] = text
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return tree
}

// equal compares two trees and says what differs.
func (w *world) equal(what string, got, want map[string]string) {
	w.Helper()
	n := 0
	tell := func(format string, args ...any) {
		if n++; n <= 10 {
			w.Errorf("%s: "+format, append([]any{what}, args...)...)
		}
	}
	for path, text := range want {
		if got[path] != text {
			tell("%q is %q, not %q", path, got[path], text)
		}
	}
	for path, text := range got {
		if _, ok := want[path]; !ok {
			tell("%q is there: %q", path, text)
		}
	}
	if n > 10 {
		w.Errorf("%s: and %d more", what, n-10)
	}
	if n > 0 {
		w.FailNow()
	}
}
