package rplugin

import (
	"errors"
	"fmt"
	"testing"

	"sandbox/engine"
)

func TestProjectName(t *testing.T) {
	sandboxes := []engine.Info{
		{Name: "app", Project: "/other/app"},
		{Name: "app-2", Project: "/home/u/app"},
		{Name: "lib", Project: "/home/u/lib"},
	}
	for _, test := range []struct {
		dir    string
		fresh  bool
		name   string
		exists bool
	}{
		{"/home/u/lib", false, "lib", true},
		{"/home/u/lib", true, "lib-2", false},
		{"/home/u/app", false, "app-2", true},
		{"/home/u/app", true, "app-3", false},
		{"/home/u/new", false, "new", false},
		{"/", false, fallbackName, false},
		{"/home/u/my project!", false, "my-project", false},
		{"/home/u/.config", false, "config", false},
		{"/home/u/--net", false, "net", false},
		{"/home/u/日本", false, fallbackName, false},
	} {
		name, exists := projectName(sandboxes, test.dir, test.fresh)
		if name != test.name || exists != test.exists {
			t.Errorf("%s (new %t): %s, %t, want %s, %t", test.dir, test.fresh, name, exists, test.name, test.exists)
		}
	}
}

// "None of the blocks" must never be read as "the whole file".
func TestDecisionsWithoutBlocksAreRefused(t *testing.T) {
	decision := func(fields table) request { return request{"decisions": []any{fields}} }
	if _, err := decision(table{"path": "/a", "hunks": []any{}}).decisions(); err == nil {
		t.Error("an empty list of blocks was taken")
	}
	if _, err := decision(table{"path": "/a", "hunks": []any{7}}).decisions(); err == nil {
		t.Error("a list of blocks without an id was taken")
	}
	if _, err := (request{}).decisions(); err == nil {
		t.Error("no decision at all was taken")
	}
	got, err := decision(table{"path": "/a", "host": "none"}).decisions()
	if err != nil || len(got) != 1 || got[0].Hunks != nil || got[0].Host != "none" {
		t.Errorf("a whole file: %+v, %v", got, err)
	}
}

// An editor at a prompt answers nothing; what waits for it stays small.
func TestEventsCoalesceAndAreBounded(t *testing.T) {
	var sent []string
	p := newPusher(func(event table) error {
		sent = append(sent, fmt.Sprint(event["name"], event["n"]))
		if len(sent) == maxPending {
			return errors.New("the editor is gone")
		}
		return nil
	})
	for n := range 3 {
		for i := range maxPending + 10 {
			p.add(fmt.Sprint(i), table{"name": i, "n": fmt.Sprint(".", n)})
		}
	}
	p.run(make(chan struct{}))
	if len(sent) != maxPending || sent[0] != "0.2" {
		t.Errorf("%d events, the first %s; want %d, the newest of each", len(sent), sent[0], maxPending)
	}
}
