package main

import (
	"slices"
	"strings"

	"sandbox/engine/fault"
)

// options are all options of the command line.
type options struct {
	name, storageDir, net, config, logLevel string

	noConfig, json, ignored, sensitive, git, skipConflicts, special, yes, help bool

	verbose int
	hunks   []string
}

// call is one parsed command line.
type call struct {
	options
	action  string   // "run" for a command
	args    []string // of the action, or the command
	bareNet bool     // --net stood alone, right before the command
}

// option describes one option. Its value, if it takes one, stands after '=' or
// in the next argument.
type option struct {
	long, short string
	value       string // what the value is called in help; "" for none
	optional    string // value that stands for a missing "=…"; then none follows in the next argument
	actions     string // actions that it belongs to, "" for all
	help        string
	set         func(*call, string)
}

var optionTable = []option{
	{long: "name", value: "NAME", help: "the sandbox to use (default: sandbox)", set: func(c *call, v string) { c.name = v }},
	{long: "storage-dir", value: "DIR", help: "where sandboxes are kept (default: ~/.sandboxes)", set: func(c *call, v string) { c.storageDir = v }},
	{long: "net", value: "NET", optional: "host", actions: "run config", help: "network of a new sandbox: none (default) or host; --net alone means host", set: func(c *call, v string) { c.net = v }},
	{long: "json", help: "print one JSON document on standard output, errors too", set: func(c *call, _ string) { c.json = true }},
	{long: "config", value: "FILE", help: "read this configuration file", set: func(c *call, v string) { c.config = v }},
	{long: "no-config", help: "read no configuration file", set: func(c *call, _ string) { c.noConfig = true }},
	{long: "ignored", actions: "status diff accept reject", help: "ignored files too", set: func(c *call, _ string) { c.ignored = true }},
	{long: "hunk", value: "ID", actions: "accept reject", help: "only this block (id from `sandbox diff --json`); may be repeated", set: func(c *call, v string) { c.hunks = append(c.hunks, v) }},
	{long: "sensitive", actions: "accept", help: "also files that run by themselves later, without naming each", set: func(c *call, _ string) { c.sensitive = true }},
	{long: "git", actions: "accept", help: "also git repositories that this machine has, each as a whole", set: func(c *call, _ string) { c.git = true }},
	{long: "skip-conflicts", actions: "accept reject", help: "leave conflicts alone and take the rest", set: func(c *call, _ string) { c.skipConflicts = true }},
	{long: "special", actions: "accept", help: "keep setuid, setgid, file capabilities and foreign owners, and accept device nodes", set: func(c *call, _ string) { c.special = true }},
	{long: "yes", short: "y", actions: "delete accept reject", help: "do not ask", set: func(c *call, _ string) { c.yes = true }},
	{long: "verbose", short: "v", help: "say on standard error which sandbox and storage are used, and why", set: func(c *call, _ string) { c.verbose++ }},
	{long: "log-level", value: "LEVEL", help: "error, warn (default), info or debug; info is --verbose", set: func(c *call, v string) { c.logLevel = v }},
	{long: "help", short: "h", help: "show help", set: func(c *call, _ string) { c.help = true }},
	{long: "version", help: "show the version", set: func(c *call, _ string) { c.action = "version" }},
}

// later are options and actions that belong to the tool but are not there yet.
// They are refused by name, so that none is ever taken for something else.
var (
	laterOptions = []string{"new", "last", "rm", "bind", "mask", "no-default-binds"}
	laterActions = []string{"events", "net", "export", "import", "snapshot", "restore", "fan-out", "review", "completion"}
)

// parse reads a command line without the program's name. The first argument
// that is neither an option nor an action begins a command, to which all that
// follows belongs. The call is usable even with an error: it says whether the
// error is wanted as JSON.
func parse(args []string) (call, error) {
	var c call
	var first error
	fail := func(err error) {
		if first == nil {
			first = err
		}
	}
	var given []option
	plain := false // after "--" everything is an argument
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case plain:
			c.args = append(c.args, arg)
		case arg == "--":
			if c.action == "" {
				c.action, c.args = "run", args[i+1:]
				i = len(args)
				break
			}
			plain = true
		case len(arg) > 1 && arg[0] == '-':
			opts, value, skip, err := readOption(arg, args[i+1:])
			if err != nil {
				fail(err)
			}
			i += skip
			for _, o := range opts {
				o.set(&c, value)
				c.bareNet = o.long == "net" && arg == "--net"
			}
			given = append(given, opts...)
			continue
		case c.action != "":
			c.args = append(c.args, arg)
		case isAction(arg):
			c.action = arg
		default:
			if c.bareNet && slices.Contains([]string{"none", "host", "filtered"}, arg) {
				fail(fault.New(fault.Usage, "read the options", "--net "+arg, "the value of --net stands after an equals sign",
					"Write --net="+arg+", or `-- "+arg+"` for a program of that name."))
			}
			c.action, c.args = "run", args[i:]
			i = len(args)
		}
		c.bareNet = false
	}
	if c.action == "" {
		c.action = "run" // the user's shell
	}
	if c.help {
		if c.action != "run" && c.action != "help" {
			c.args = []string{c.action}
		}
		c.action = "help"
		return c, first
	}
	fail(check(c, given))
	return c, first
}

// check refuses what does not belong to the action.
func check(c call, given []option) error {
	if slices.Contains(laterActions, c.action) {
		return fault.New(fault.Usage, "run the action", c.action, "it is not there yet",
			"For a program of that name: sandbox -- "+c.action)
	}
	if c.action == "help" || c.action == "version" {
		return nil
	}
	for _, o := range given {
		if o.actions != "" && !slices.Contains(strings.Fields(o.actions), c.action) {
			return fault.New(fault.Usage, "read the options", "--"+o.long, "it does not belong to "+describe(c.action),
				"See `sandbox help`.")
		}
	}
	if c.logLevel != "" && !slices.Contains([]string{"error", "warn", "info", "debug"}, c.logLevel) {
		return fault.New(fault.Usage, "read the options", "--log-level="+c.logLevel, "there is no such level", "Use error, warn, info or debug.")
	}
	if c.action == "run" && c.json {
		return fault.New(fault.Usage, "run", strings.Join(c.args, " "), "--json belongs to actions; a command has its own output", "")
	}
	return nil
}

func describe(action string) string {
	if action == "run" {
		return "running a command"
	}
	return "`sandbox " + action + "`"
}

// readOption reads the option in arg; rest are the arguments behind it, of
// which skip were taken. Short options without values may be joined (-vv).
func readOption(arg string, rest []string) (opts []option, value string, skip int, err error) {
	name, value, hasValue := strings.Cut(arg, "=")
	bad := func(reason string) ([]option, string, int, error) {
		return nil, "", 0, fault.New(fault.Usage, "read the options", name, reason, "See `sandbox help`.")
	}
	if !strings.HasPrefix(arg, "--") {
		for _, r := range arg[1:] {
			i := slices.IndexFunc(optionTable, func(o option) bool { return o.short == string(r) })
			if i < 0 {
				return bad("there is no such option")
			}
			opts = append(opts, optionTable[i])
		}
		return opts, "", 0, nil
	}
	if slices.Contains(laterOptions, name[2:]) {
		return bad("this option is not there yet")
	}
	i := slices.IndexFunc(optionTable, func(o option) bool { return o.long == name[2:] })
	if i < 0 {
		return bad("there is no such option")
	}
	o := optionTable[i]
	switch {
	case o.value == "" && hasValue:
		return bad("it takes no value")
	case o.value == "":
	case hasValue && value == "":
		return bad("its value is empty")
	case !hasValue && o.optional != "":
		value = o.optional
	case !hasValue && len(rest) == 0:
		return bad("its value is missing")
	case !hasValue:
		value, skip = rest[0], 1
		if value == "" {
			return bad("its value is empty")
		}
	}
	return []option{o}, value, skip, nil
}
