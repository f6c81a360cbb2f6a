package main

import (
	"context"
	"os"

	"sandbox/engine"
)

// runCommand runs a command, or the user's shell, in the sandbox.
func runCommand(ctx context.Context, a *app) error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	e, err := a.engine(s)
	if err != nil {
		return err
	}
	a.explain(s)
	argv := a.args
	if len(argv) == 0 {
		argv = []string{shell()}
	}
	// A running sandbox keeps its network, unless another one is asked for on
	// the command line: that is refused.
	net := s.Net.Text
	if a.net == "" {
		if s.Net.From == "default" || isRunning(ctx, e, s.Name.Text) {
			net = ""
		}
	}
	code, err := e.Run(ctx, engine.RunOptions{
		Name: s.Name.Text, Net: net, Argv: argv, Env: os.Environ(),
		PlainRenames: s.RenameEmulation.Text == "false",
		Stdin:        os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		if code == 126 || code == 127 {
			a.fail(err)
			a.exit = code
			return nil
		}
		return err // its own exit code, or 125: see exitCode
	}
	a.exit = code
	if len(a.args) > 0 && a.errTTY && mayLackNetwork(code) {
		if info, err := e.Info(ctx, s.Name.Text); err == nil && info.Net == "none" {
			a.notef("sandbox: the command had no network; `sandbox stop %s`, then `sandbox --net …` allows it", info.Name)
		}
	}
	return nil
}

func isRunning(ctx context.Context, e *engine.Engine, name string) bool {
	info, err := e.Info(ctx, name)
	return err == nil && info.Running
}

// mayLackNetwork leaves out the exits that have other reasons: not found, not
// executable, killed by a signal.
func mayLackNetwork(code int) bool { return code > 0 && code < 125 }

func shell() string {
	if sh := os.Getenv("SHELL"); sh != "" {
		return sh
	}
	return "/bin/sh"
}
