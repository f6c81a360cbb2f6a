package main

import (
	"context"
	"slices"
	"strings"

	"sandbox/engine/fault"
)

const helpHead = `Usage: sandbox [OPTIONS] [--] COMMAND [ARGS…]
       sandbox [OPTIONS] ACTION [ARGS…]
       sandbox [OPTIONS]

Runs a command (your shell, if none is given) in a copy-on-write view of this
machine. What it writes lands in the sandbox; nothing here changes until you
accept it. Everything that is not an action is a command. A program that is
called like an action: sandbox -- NAME
`

const helpTail = `
Options stand before or after the action; after a command they are the
command's. Patterns are relative to the working directory: a name that exists
is taken literally, * ? [ab] {a,b} and ** match, a directory means all below it.

Exit codes: 0 done, 1 failed, 2 usage, 3 nothing matched, 4 conflict or stale,
5 no such sandbox, 6 this machine cannot (see "sandbox doctor"). A command
gives its own code, 126, 127, 128+signal, or 125 when the sandbox failed.
`

func help(_ context.Context, a *app) error {
	text := overview()
	if len(a.args) > 0 {
		name := a.args[0]
		if slices.Contains(laterActions, name) {
			return fault.New(fault.Usage, "show help for", name, "it is not there yet", "")
		}
		if !isAction(name) {
			return fault.New(fault.Usage, "show help for", name, "there is no such action", "`sandbox help` lists them.")
		}
		text = actionHelp(findAction(name))
	}
	if a.json {
		a.answer(document{"help": text})
	} else {
		a.printf("%s", text)
	}
	return a.finish()
}

func overview() string {
	var b strings.Builder
	b.WriteString(helpHead + "\nActions:\n")
	for _, act := range actions() {
		if act.short != "" {
			b.WriteString("  " + pad(strings.TrimSpace(act.name+" "+act.usage), 21) + " " + act.short + "\n")
		}
	}
	b.WriteString("\nOptions:\n")
	for _, o := range optionTable {
		if o.actions == "" || o.actions == "run config" {
			b.WriteString(optionHelp(o))
		}
	}
	return b.String() + helpTail
}

func actionHelp(act action) string {
	var b strings.Builder
	b.WriteString("Usage: " + strings.TrimSpace("sandbox [OPTIONS] "+act.name+" "+act.usage) + "\n\n")
	b.WriteString(strings.ToUpper(act.short[:1]) + act.short[1:] + ".\n")
	if act.long != "" {
		b.WriteString("\n" + act.long)
	}
	own := ""
	for _, o := range optionTable {
		if slices.Contains(strings.Fields(o.actions), act.name) {
			own += optionHelp(o)
		}
	}
	if own != "" {
		b.WriteString("\nOptions of this action:\n" + own)
	}
	b.WriteString("\n`sandbox help` lists the options that all actions have.\n")
	return b.String()
}

func optionHelp(o option) string {
	name := "--" + o.long
	switch {
	case o.optional != "":
		name += "[=" + o.value + "]"
	case o.value != "":
		name += " " + o.value
	}
	if o.short != "" {
		name = "-" + o.short + ", " + name
	}
	return "  " + pad(name, 21) + " " + o.help + "\n"
}
