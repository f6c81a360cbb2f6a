package engine

import (
	"os"

	"sandbox/engine/initproc"
	"sandbox/engine/keeper"
	"sandbox/engine/launch"
)

// Reexec is the part of the program that the engine starts itself, under names
// that no person types: the init of a sandbox, its keeper. For another name it
// returns. A main function calls it before everything else, because init is on
// the start path of every command.
func Reexec(argv []string) {
	if len(argv) == 0 {
		return
	}
	switch argv[0] {
	case initproc.InitName, initproc.InnerName, initproc.SessionName:
		initproc.Main(argv[0])
	case launch.KeeperName:
		os.Exit(keeper.Main(argv[1:]))
	case probeName:
		os.Exit(probeMain(argv[1:]))
	}
}
