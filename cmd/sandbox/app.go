package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sandbox/engine"
	"sandbox/engine/config"
	"sandbox/engine/fault"
	"sandbox/engine/termsafe"
)

// app is one call of the program: what was asked for, and where answers go.
type app struct {
	call
	out  *bufio.Writer // standard output
	errs io.Writer     // standard error
	// outTTY and errTTY say that a person reads along, so names are made safe
	// for a terminal and notes are worth printing.
	outTTY, errTTY bool
	exit           int // exit code when no error is returned
	answered       bool
	notices        []string // for the JSON document
}

func newApp(c call) *app {
	return &app{
		call: c, out: bufio.NewWriterSize(os.Stdout, 64<<10), errs: os.Stderr,
		outTTY: isTerminal(1), errTTY: isTerminal(2),
	}
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// settings merges flags, environment and file.
func (a *app) settings() (config.Settings, error) {
	return config.Load(config.Flags{
		Name: a.name, StorageDir: a.storageDir, Net: a.net, File: a.config, NoFile: a.noConfig,
	})
}

// open returns the engine and the name of the sandbox that is meant.
func (a *app) open() (*engine.Engine, string, error) {
	s, err := a.settings()
	if err != nil {
		return nil, "", err
	}
	e, err := a.engine(s)
	a.explain(s)
	return e, s.Name.Text, err
}

// engine opens the engine. What it has to tell beside an answer goes to
// standard error, or into the JSON document.
func (a *app) engine(s config.Settings) (*engine.Engine, error) {
	e, err := engine.New(s.StorageDir.Text)
	if err != nil {
		return nil, err
	}
	e.Notice = func(text string) {
		if a.json {
			a.notices = append(a.notices, text)
			return
		}
		a.notef("sandbox: %s", termsafe.Name(text))
	}
	return e, nil
}

// explain says under --verbose what was chosen, and why.
func (a *app) explain(s config.Settings) {
	if a.verbose == 0 && a.logLevel != "info" && a.logLevel != "debug" {
		return
	}
	a.notef("sandbox: name %s (%s), storage %s (%s), net %s (%s)", s.Name.Text, s.Name.From,
		safeErr(s.StorageDir.Text), safeErr(s.StorageDir.From), s.Net.Text, s.Net.From)
}

// dir is the working directory without symlinks: changes are listed by their
// real paths.
func (a *app) dir() (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Getcwd(buf)
	if err != nil || n < 2 || buf[0] != '/' {
		return "", &fault.Error{
			Code: fault.Usage, Op: a.action, Reason: "the working directory is gone", Err: err,
			Hint: "Go to a directory that exists.",
		}
	}
	return string(buf[:n-1]), nil
}

// finish writes what is left of standard output.
func (a *app) finish() error {
	if err := a.out.Flush(); err != nil && !errors.Is(err, unix.EPIPE) {
		return fault.Wrap(fault.Failed, "write to", "standard output", err)
	}
	return nil
}

// printf writes to standard output.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// notef writes a line to standard error, which stays empty under --json
// except for what --verbose asks for.
func (a *app) notef(format string, args ...any) {
	_ = a.out.Flush()
	fmt.Fprintf(a.errs, format+"\n", args...)
}

// fail reports an error once, in the form that was asked for, and returns the
// exit code.
func (a *app) fail(err error) int {
	code := a.exitCode(err)
	if a.json && !a.answered {
		a.answer(errorDocument(err))
		if ferr := a.finish(); ferr == nil {
			return code
		}
	}
	_ = a.finish()
	fmt.Fprintf(a.errs, "sandbox: %s\n", termsafe.Name(err.Error()))
	if hint := fault.HintOf(err); hint != "" {
		fmt.Fprintf(a.errs, "         %s\n", termsafe.Name(hint))
	}
	return code
}

// exitCode is the process's exit code for an error. A command that could not
// be started because of us has 125, so that 1 is always its own.
func (a *app) exitCode(err error) int {
	code := fault.ExitCode(err)
	if a.action == "run" && code == 1 {
		return 125
	}
	return code
}

// safe makes text from a sandbox safe for standard output when that is a
// terminal.
func (a *app) safe(s string) string {
	if a.outTTY {
		return termsafe.Name(s)
	}
	return s
}

// shown is a path as people read it: relative to dir where that is shorter.
func shown(dir, path string) string {
	if dir != "/" && path != dir && engine.Below(path, dir) {
		return path[len(dir)+1:]
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || len(rel) >= len(path) {
		return path
	}
	return rel
}
