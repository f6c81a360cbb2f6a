package engine

import (
	"os"
	"strings"
	"testing"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/internal/testuser"
)

// A directory that a program renamed, with an edit in it, is reviewed as that:
// the names, the edit apart from its name, all of it, and back.
func TestARenamedDirectoryIsReviewed(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		long := "1\n2\n3\n4\n5\n6\n7\n8\n"
		w := newWorld(t, map[string]string{"old/a": long, "old/s/b": "b\n", "old/s/init": "", "old/t/b": "b\n", "old/t/init": ""})
		w.run(`python3 -c 'import os; os.rename("old", "new")'; sed -i s/4/four/ new/a`)
		list := func() string {
			found, err := w.engine.Changes(t.Context(), "s", Query{Dir: w.dir})
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, c := range found.Matching {
				from := strings.TrimPrefix(c.From, w.dir)
				rows = append(rows, strings.TrimSpace(string(c.Kind)+strings.TrimPrefix(c.Path, w.dir)+" "+from))
			}
			return strings.Join(rows, "; ")
		}
		user := os.Getuid() != 0
		want := "renamed/new /old; modified/new/a /old/a"
		if user {
			want = "added/new; renamed/new/a /old/a; added/new/s; renamed/new/s/b /old/s/b; renamed/new/s/init /old/s/init; " +
				"added/new/t; renamed/new/t/b /old/t/b; renamed/new/t/init /old/t/init; deleted/old; deleted/old/s; deleted/old/t"
		}
		if got := list(); got != want {
			t.Fatalf("status:\n%s\nwant:\n%s", got, want)
		}
		d, err := w.engine.Diff(t.Context(), "s", w.path("new/a"))
		if err != nil {
			t.Fatal(err)
		}
		edit := d.Hunks[len(d.Hunks)-1]
		if edit.Kind != diff.Lines || len(edit.Lines) != 2 || d.Change.Conflict {
			t.Fatalf("the edit is %+v", d.Hunks)
		}
		host := func(name string) string {
			b, err := os.ReadFile(w.path(name))
			if err != nil {
				return "none"
			}
			return string(b)
		}
		must := func(_ apply.Result, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		if user {
			if len(d.Hunks) != 2 || d.Hunks[0].Kind != diff.Renamed || d.Change.Kind != changes.Renamed {
				t.Fatalf("blocks: %+v", d.Hunks)
			}
			name := []Decision{{Path: w.path("new/a"), Hunks: []string{d.Hunks[0].ID}}}
			must(w.engine.Accept(t.Context(), "s", DecideOptions{Decisions: name}))
			if host("new/a") != long || host("old/a") != "none" || host("old/s/b") != "b\n" {
				t.Errorf("the name alone: %q %q", host("new/a"), host("old/a"))
			}
			must(w.engine.Undo(t.Context(), "s", ""))
			if host("old/a") != long || host("new/a") != "none" {
				t.Error("undo of the name")
			}
		}
		must(w.engine.Accept(t.Context(), "s", DecideOptions{Query: Query{Dir: w.dir}}))
		if host("new/a") != strings.Replace(long, "4", "four", 1) || host("new/t/b") != "b\n" || host("new/s/init") != "" {
			t.Errorf("after the accept: %q", host("new/a"))
		}
		if _, err := os.Lstat(w.path("old")); err == nil {
			t.Error("the old directory is still there")
		}
		if got := list(); got != "" {
			t.Errorf("left: %s", got)
		}
		must(w.engine.Undo(t.Context(), "s", ""))
		if host("old/a") != long || host("new/a") != "none" {
			t.Error("undo of all")
		}
		if got := list(); got != want {
			t.Errorf("status after the undo:\n%s", got)
		}
		must(w.engine.Reject(t.Context(), "s", DecideOptions{Query: Query{Dir: w.dir}}))
		if got, _, err := w.engine.ReadSandbox(t.Context(), "s", w.path("old/a")); err != nil || got.Type != entry.File || string(got.Data) != long {
			t.Errorf("after the reject: %+v %v", got, err)
		}
		if got := list(); got != "" {
			t.Errorf("left after the reject: %s", got)
		}
	})
}
