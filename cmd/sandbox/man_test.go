package main

import (
	"os"
	"strings"
	"testing"
)

// The man page has every action and option that help has, and no other option.
func TestManPageMatchesHelp(t *testing.T) {
	b, err := os.ReadFile("../../doc/sandbox.1")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, act := range actions() {
		if act.name != "run" && !strings.Contains(page, "\n.It Cm "+act.name) {
			t.Errorf("the action %s is missing", act.name)
		}
	}
	known := map[string]bool{}
	for _, o := range optionTable {
		known[o.long] = true
		if !strings.Contains(page, `\&-`+o.long) {
			t.Errorf("the option --%s is missing", o.long)
		}
	}
	for _, line := range strings.Split(page, "\n") {
		if rest, ok := strings.CutPrefix(line, ".It Fl "); ok {
			_, name, _ := strings.Cut(rest, `\&-`)
			if name, _, _ = strings.Cut(name, " "); !known[name] {
				t.Errorf("help has no option --%s", name)
			}
		}
	}
}

func TestEveryActionHasHelp(t *testing.T) {
	for _, act := range actions()[1:] {
		if act.short == "" || act.run == nil {
			t.Errorf("%s has no help or does nothing", act.name)
		}
		if text := actionHelp(act); !strings.HasPrefix(text, "Usage: sandbox") {
			t.Errorf("%s: %q", act.name, text)
		}
	}
}
