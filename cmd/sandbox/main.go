// Command sandbox runs programs in a copy-on-write view of this machine and
// takes their changes over, or not. `sandbox help` says how to use it.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"sandbox/engine"
)

// version is set by the build.
var version = "development"

func main() {
	engine.Reexec(os.Args)
	os.Exit(start(context.Background(), os.Args[1:]))
}

// start runs one command line and returns the exit code.
func start(ctx context.Context, args []string) int {
	c, err := parse(args)
	app := newApp(c)
	boundMemory(c.action)
	if err != nil {
		return app.fail(err)
	}
	run := findAction(c.action).run
	if err := run(ctx, app); err != nil {
		return app.fail(err)
	}
	return app.exit
}

// boundMemory lets the actions that hold all changes of a sandbox collect
// garbage when there is much of it, not when it has doubled: 100,000 changes
// are some 60 MB.
func boundMemory(action string) {
	switch action {
	case "status", "diff", "accept", "reject", "undo", "list":
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(112 << 20)
	}
}
