package main

import (
	"os"

	"sandbox/engine/initproc"
	"sandbox/engine/keeper"
	"sandbox/engine/launch"
)

// reexec is the part of the program that we start ourselves under names that
// no person types. It comes before everything else, because the init of a
// sandbox is on the start path of every command. For other names it returns.
func reexec(argv []string) {
	switch argv[0] {
	case initproc.InitName, initproc.InnerName, initproc.SessionName:
		initproc.Main(argv[0])
	case launch.KeeperName:
		os.Exit(keeper.Main(argv[1:]))
	case probeName:
		os.Exit(probeMain())
	}
}
