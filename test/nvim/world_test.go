package nvim

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sandbox/internal/nvimtest"
	"sandbox/internal/testbin"
)

// world is a home with a project and a sandbox, both real.
type world struct {
	t    *testing.T
	home string
	dir  string // the project
	*nvimtest.Editor
}

// newWorld makes an empty home with an empty project. What is not private to
// the test is the machine.
func newWorld(t *testing.T) *world {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, dir: filepath.Join(home, "project")}
	for _, dir := range []string{"project", "tmp", "run", ".config/nvim", ".local/share", ".local/state", ".cache"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _, _ = w.command("delete", "-y", "demo").CombinedOutput() })
	return w
}

// command is the real binary with the world's home, in the project.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(testbin.Path(), args...)
	cmd.Dir = w.dir
	cmd.Env = []string{
		"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "SHELL=/bin/sh", "LANG=C.UTF-8", "TERM=dumb",
		"TMPDIR=" + filepath.Join(w.home, "tmp"),
	}
	return cmd
}

// cli runs the binary and gives its standard output.
func (w *world) cli(args ...string) []byte {
	w.t.Helper()
	cmd := w.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("sandbox %q: %v\n%s%s", args, err, out, stderr.String())
	}
	return out
}

// agent runs a shell script in the sandbox, with input on its standard input.
func (w *world) agent(script string, input []byte) {
	w.t.Helper()
	cmd := w.command("--name", "demo", "sh", "-ec", script)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("in the sandbox, %s: %v\n%s", script, err, out)
	}
}

// background starts a command in the sandbox that stays, and checks at the end
// that it did.
func (w *world) background() {
	w.t.Helper()
	cmd := w.command("--name", "demo", "sh", "-c", "echo up; exec sleep 600")
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	up := make([]byte, 2)
	if _, err := out.Read(up); err != nil {
		w.t.Fatalf("nothing runs in the sandbox: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	w.t.Cleanup(func() {
		select {
		case err := <-ended:
			w.t.Errorf("the program in the sandbox ended during the review: %v", err)
		default:
			_ = cmd.Process.Kill()
			if err := <-ended; err == nil {
				w.t.Error("the program in the sandbox was not killed")
			}
		}
	})
}

// edit starts the editor in the project.
func (w *world) edit(version string, options ...nvimtest.Option) {
	w.t.Helper()
	w.Editor = nvimtest.Start(w.t, append([]nvimtest.Option{
		nvimtest.Version(version), nvimtest.Plugin(), nvimtest.Home(w.home), nvimtest.Dir(w.dir), nvimtest.Size(130, 34),
		nvimtest.Init("vim.g.sandbox = { bin = '" + testbin.Path() + "' }"),
	}, options...)...)
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name string, data []byte) {
	w.t.Helper()
	path := w.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// sides compares the bytes of a file on the host and in the sandbox.
func (w *world) sides(when, name string, host, sandbox []byte) {
	w.t.Helper()
	got, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatalf("%s: %v", when, err)
	}
	if !bytes.Equal(got, host) {
		w.t.Fatalf("%s, the host has\n%q, want\n%q", when, got, host)
	}
	if got := w.cli("--name", "demo", "cat", w.path(name)); !bytes.Equal(got, sandbox) {
		w.t.Fatalf("%s, the sandbox has\n%q, want\n%q", when, got, sandbox)
	}
}

// press types keys and waits until the screen holds all the texts.
func (w *world) press(keys string, texts ...string) *nvimtest.Screen {
	w.t.Helper()
	w.Input(keys)
	return w.WaitFor("the screen after "+keys, nvimtest.Contains(texts...))
}
