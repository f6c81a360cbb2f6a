// Command sandbox runs programs in a copy-on-write view of this machine and
// takes their changes over, or not. `sandbox help` says how to use it.
package main

import (
	"context"
	"os"

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
	if err != nil {
		return app.fail(err)
	}
	run := findAction(c.action).run
	if err := run(ctx, app); err != nil {
		return app.fail(err)
	}
	return app.exit
}
