package main

import (
	"slices"
	"strings"
	"testing"

	"sandbox/engine/fault"
)

func TestParse(t *testing.T) {
	tests := []struct {
		line   string
		action string
		args   string
		check  func(call) bool
	}{
		{line: "", action: "run"},
		{line: "ls -l", action: "run", args: "ls -l"},
		{line: "-- ls", action: "run", args: "ls"},
		{line: "--", action: "run"},
		{line: "-- status", action: "run", args: "status"},
		{line: "ls --json --name x", action: "run", args: "ls --json --name x", check: func(c call) bool { return !c.json && c.name == "" }},
		{line: "ls -- x", action: "run", args: "ls -- x"},
		{line: "--name x ls -v", action: "run", args: "ls -v", check: func(c call) bool { return c.name == "x" && c.verbose == 0 }},
		{line: "--name=x -- -v", action: "run", args: "-v", check: func(c call) bool { return c.name == "x" && c.verbose == 0 }},
		{line: "-", action: "run", args: "-"},
		{line: "/bin/status", action: "run", args: "/bin/status"},
		{line: "--net curl x", action: "run", args: "curl x", check: func(c call) bool { return c.net == "host" }},
		{line: "--net=none curl", action: "run", args: "curl", check: func(c call) bool { return c.net == "none" }},
		{line: "--net -- none", action: "run", args: "none", check: func(c call) bool { return c.net == "host" }},
		{line: "--net -v host", action: "run", args: "host", check: func(c call) bool { return c.net == "host" }},
		{line: "status", action: "status"},
		{line: "status --json a b", action: "status", args: "a b", check: func(c call) bool { return c.json }},
		{line: "--json status a --name n", action: "status", args: "a", check: func(c call) bool { return c.json && c.name == "n" }},
		{line: "status -- --json -- x", action: "status", args: "--json -- x", check: func(c call) bool { return !c.json }},
		{line: "status run status", action: "status", args: "run status"},
		{line: "accept --hunk a --hunk=b f", action: "accept", args: "f", check: func(c call) bool { return slices.Equal(c.hunks, []string{"a", "b"}) }},
		{line: "accept --hunk -- f", action: "accept", args: "f", check: func(c call) bool { return slices.Equal(c.hunks, []string{"--"}) }},
		{line: "delete -y", action: "delete", check: func(c call) bool { return c.yes }},
		{line: "-vv list", action: "list", check: func(c call) bool { return c.verbose == 2 }},
		{line: "--help", action: "help"},
		{line: "accept -h", action: "help", args: "accept"},
		{line: "help accept", action: "help", args: "accept"},
		{line: "--version", action: "version"},
		{line: "run", action: "run", args: "run"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			c, err := parse(strings.Fields(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			if c.action != tt.action || strings.Join(c.args, " ") != tt.args {
				t.Errorf("got %s %q", c.action, c.args)
			}
			if tt.check != nil && !tt.check(c) {
				t.Errorf("got %+v", c)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		line, reason string
		json         bool
	}{
		{line: "--nome x ls", reason: "no such option"},
		{line: "-x", reason: "no such option"},
		{line: "-vx", reason: "no such option"},
		{line: "--name", reason: "value is missing"},
		{line: "--name=", reason: "value is empty"},
		{line: "--json=yes status", reason: "takes no value"},
		{line: "--net none ls", reason: "after an equals sign"},
		{line: "--net host", reason: "after an equals sign"},
		{line: "status --hunk a", reason: "does not belong to"},
		{line: "-y status", reason: "does not belong to"},
		{line: "status --net", reason: "does not belong to"},
		{line: "--sensitive ls", reason: "does not belong to"},
		{line: "--json ls", reason: "belongs to actions", json: true},
		{line: "--log-level loud list", reason: "no such level"},
		{line: "events", reason: "not there yet"},
		{line: "net allow x", reason: "not there yet"},
		{line: "--rm ls", reason: "not there yet"},
		{line: "--bind /x ls", reason: "not there yet"},
		{line: "--json export", reason: "not there yet", json: true},
		{line: "status --nonsense --json", reason: "no such option", json: true},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			c, err := parse(strings.Fields(tt.line))
			if fault.CodeOf(err) != fault.Usage || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("got %v", err)
			}
			if c.json != tt.json {
				t.Errorf("json is %v", c.json)
			}
		})
	}
}

// Whatever is typed: no panic, and what belongs to a command stays as it is.
func FuzzParse(f *testing.F) {
	f.Add("--name\x00x\x00ls\x00-l", "--json\x00--")
	f.Add("status\x00-vv", "a")
	f.Add("--net=\x00--", "status")
	f.Fuzz(func(t *testing.T, before, after string) {
		args := strings.Split(before, "\x00")
		_, _ = parse(args)
		command := append([]string{"program"}, strings.Split(after, "\x00")...)
		c, err := parse(append([]string{"--name", "n", "--"}, command...))
		if err != nil || c.action != "run" || !slices.Equal(c.args, command) {
			t.Errorf("%q: %+v %v", command, c, err)
		}
	})
}
