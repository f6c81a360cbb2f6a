package main

import (
	"context"
	"slices"

	"sandbox/engine/fault"
)

// action is one word of the command line.
type action struct {
	name  string
	usage string // arguments, for help
	short string
	long  string // more help, may be empty
	run   func(context.Context, *app) error
}

// actions returns all of them, in the order of help. (A function, because help
// itself is one.)
func actions() []action {
	return []action{
		{"run", "", "", "", runCommand},
		{"status", "[PATTERN…]", "list the changes", statusHelp, status},
		{"diff", "[PATTERN…]", "show the changes as a patch", diffHelp, diffAction},
		{"accept", "[PATTERN…]", "take changes over to this machine", acceptHelp, acceptAction},
		{"reject", "[PATTERN…]", "give the sandbox this machine's version back", rejectHelp, rejectAction},
		{"undo", "[ID]", "take the newest accept or reject back", undoHelp, undo},
		{"list", "", "list the sandboxes", "", list},
		{"sync", "[PATH…]", "show the sandbox what changed on this machine", syncHelp, syncAction},
		{"stop", "[NAME…]", "end a sandbox and all that runs in it; its changes stay", "", stop},
		{"delete", "[NAME…]", "stop a sandbox and remove it with its changes", deleteHelp, deleteAction},
		{"config", "", "show the settings and where each comes from", "", showConfig},
		{"doctor", "", "check what this machine can do", "", doctor},
		{"rpc-host", "", "serve Neovim on standard input and output (the plugin starts it)", "", rpcHost},
		{"version", "", "show the version", "", showVersion},
		{"help", "[ACTION]", "show this help", "", help},
	}
}

// findAction returns an action that parse has accepted.
func findAction(name string) action {
	all := actions()
	return all[max(0, slices.IndexFunc(all, func(a action) bool { return a.name == name }))]
}

// isAction reports whether a word is an action, also one that is not there
// yet. "run" is none: it is what is left over.
func isAction(word string) bool {
	if word == "run" {
		return false
	}
	return slices.Contains(laterActions, word) ||
		slices.ContainsFunc(actions(), func(a action) bool { return a.name == word })
}

// noArgs refuses arguments of an action that takes none.
func (a *app) noArgs() error {
	if len(a.args) == 0 {
		return nil
	}
	return fault.New(fault.Usage, a.action, a.args[0], "it takes no arguments", "See `sandbox help "+a.action+"`.")
}
