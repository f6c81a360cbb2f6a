package nvimtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neovim/go-client/nvim"
)

// Editor is a running child Neovim.
type Editor struct {
	// Home is the editor's $HOME; its XDG folders are below.
	Home string

	tb      testing.TB
	client  *nvim.Nvim
	process *exec.Cmd
	served  chan error // what Serve returned, once
	grid    *grid
	timeout time.Duration
}

// Start starts an editor with an attached screen, and ends it when the test
// ends. A test that failed logs the last screen.
func Start(tb testing.TB, options ...Option) *Editor {
	tb.Helper()
	s := defaults()
	for _, option := range options {
		option(tb, s)
	}
	if s.binary == "" {
		s.binary = Binary(tb, Versions[len(Versions)-1])
	}
	home := s.home
	if home == "" {
		home = freshHome(tb, s.uid, s.gid)
	}
	if s.dir == "" {
		s.dir = home
	}

	process := exec.Command(s.binary, arguments(tb, s, home)...)
	process.Dir = s.dir
	process.Env = append(environment(home), s.env...)
	// A group of its own: Ctrl-C at the test's terminal is not for the editor.
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.uid != os.Geteuid() || s.gid != os.Getegid() {
		process.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.gid)}
	}
	process.Stderr = logWriter{tb}
	stdin, err := process.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := process.Start(); err != nil {
		tb.Fatalf("start %s: %v", s.binary, err)
	}
	client, err := nvim.New(stdout, stdin, stdin, tb.Logf)
	if err != nil {
		tb.Fatal(err)
	}

	e := &Editor{
		Home: home, tb: tb, client: client, process: process,
		served: make(chan error, 1), grid: newGrid(), timeout: s.timeout,
	}
	if err := client.RegisterHandler("redraw", e.grid.redraw); err != nil {
		tb.Fatal(err)
	}
	go func() { e.served <- client.Serve() }()
	tb.Cleanup(e.end)
	err = client.AttachUI(s.width, s.height, map[string]any{"ext_linegrid": true, "ext_hlstate": true, "rgb": true})
	if err != nil {
		tb.Fatalf("attach a screen to %s: %v", s.binary, err)
	}
	return e
}

func arguments(tb testing.TB, s *settings, home string) []string {
	args := []string{"--embed", "-n"}
	if s.clean {
		args = append(args, "--clean")
	}
	args = append(args, "-i", "NONE")
	for i, lua := range s.inits {
		path := filepath.Join(home, fmt.Sprintf("init-%d.lua", i))
		if err := os.WriteFile(path, []byte(lua), 0o644); err != nil {
			tb.Fatal(err)
		}
		args = append(args, "--cmd", "luafile "+escape(path))
	}
	return append(args, s.args...)
}

// freshHome makes an empty home that a user owns and that goes with the test. It
// is not below TMPDIR, which another user may be unable to walk, and which the
// machine may hold in memory.
func freshHome(tb testing.TB, uid, gid int) string {
	home, err := os.MkdirTemp("/var/tmp", "nvimtest-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			tb.Errorf("remove the editor's home: %v", err)
		}
	})
	for _, sub := range []string{"", ".config/nvim", ".local/share", ".local/state", ".cache", "run", "tmp"} {
		path := home
		for part := range strings.SplitSeq(sub, "/") {
			path = filepath.Join(path, part)
			if err := os.MkdirAll(path, 0o700); err != nil {
				tb.Fatal(err)
			}
			if err := os.Chown(path, uid, gid); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return home
}

// environment is all that the editor gets to know of its surroundings.
func environment(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"TERM=xterm-256color",
		"SHELL=/bin/sh",
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + home + "/.config",
		"XDG_DATA_HOME=" + home + "/.local/share",
		"XDG_STATE_HOME=" + home + "/.local/state",
		"XDG_CACHE_HOME=" + home + "/.cache",
		"XDG_RUNTIME_DIR=" + home + "/run",
		"TMPDIR=" + home + "/tmp",
		"NVIM_LOG_FILE=" + home + "/nvim.log",
	}
}

// Stop ends the editor before the test ends, as :qall! does.
func (e *Editor) Stop() {
	e.tb.Helper()
	if e.process.ProcessState != nil {
		return
	}
	killer := time.AfterFunc(e.timeout, func() { _ = e.process.Process.Kill() })
	defer killer.Stop()
	_ = e.client.Command("qall!") // the connection ends before the answer
	_ = e.client.Close()
	if err := e.process.Wait(); err != nil {
		e.tb.Errorf("the editor did not end well: %v", err)
	}
	e.served <- <-e.served // a wait that comes later finds it too
}

func (e *Editor) end() {
	if e.tb.Failed() {
		e.tb.Logf("the last screen:\n%s", e.Screen().Text())
	}
	e.Stop()
}

// Pid is the editor's process id.
func (e *Editor) Pid() int { return e.process.Process.Pid }

// Client is the connection to the editor, for what this package has no name for.
func (e *Editor) Client() *nvim.Nvim { return e.client }

// Input presses keys, in the notation of :help key-notation; a literal "<" is
// "<lt>". It returns when the keys are queued, not when they have had their
// effect: wait for that.
func (e *Editor) Input(keys string) {
	e.tb.Helper()
	for keys != "" {
		n, err := e.client.Input(keys)
		if err != nil {
			e.tb.Fatalf("press %q: %v", keys, err)
		}
		if n == 0 {
			e.tb.Fatalf("press %q: the editor takes no more keys", keys)
		}
		keys = keys[n:]
	}
}

// Command runs an Ex command; an error of it fails the test.
func (e *Editor) Command(command string) {
	e.tb.Helper()
	if err := e.client.Command(command); err != nil {
		e.tb.Fatalf(":%s: %v", command, err)
	}
}

// Exec runs Lua; an error of it fails the test.
func (e *Editor) Exec(code string, args ...any) {
	e.tb.Helper()
	if err := e.client.ExecLua(code, nil, args...); err != nil {
		e.tb.Fatalf("lua %s: %v", code, err)
	}
}

// Lua runs Lua and returns what it returns, as a T. Arguments are `...` in the
// code.
func Lua[T any](e *Editor, code string, args ...any) T {
	e.tb.Helper()
	var result T
	if err := e.client.ExecLua(code, &result, args...); err != nil {
		e.tb.Fatalf("lua %s: %v", code, err)
	}
	return result
}

// Lines returns the lines of a buffer; 0 is the current one.
func (e *Editor) Lines(buffer int) []string {
	e.tb.Helper()
	return Lua[[]string](e, "return vim.api.nvim_buf_get_lines(..., 0, -1, true)", buffer)
}

// Messages returns what :messages shows.
func (e *Editor) Messages() string {
	e.tb.Helper()
	return Lua[string](e, "return vim.api.nvim_exec2('messages', {output = true}).output")
}

// logWriter sends what the editor prints on stderr to the test's log.
type logWriter struct{ tb testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.tb.Logf("nvim: %s", p)
	return len(p), nil
}

// errTimeout is what a wait ends with when the condition never held.
var errTimeout = errors.New("timeout")
