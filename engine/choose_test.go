package engine

import (
	"os"
	"path/filepath"
	"testing"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

func TestHeldPathsHoldTheDirectoryThatTakesThemAlong(t *testing.T) {
	dir := func(kind changes.Kind, path, from string) changes.Change {
		return changes.Change{Kind: kind, Path: path, From: from, Host: entry.Entry{Type: entry.Dir}}
	}
	file := func(kind changes.Kind, path, from string) changes.Change {
		return changes.Change{Kind: kind, Path: path, From: from, Host: entry.Entry{Type: entry.File}}
	}
	held := []changes.Change{file(changes.Deleted, "/p/.git/hooks/pre-commit", ""), file(changes.Modified, "/p/new/.envrc", "/p/old/.envrc")}
	tests := []struct {
		name string
		c    changes.Change
		want string
	}{
		{"deleted directory above", dir(changes.Deleted, "/p/.git", ""), "/p/.git/hooks/pre-commit"},
		{"deleted directory right above", dir(changes.Deleted, "/p/.git/hooks", ""), "/p/.git/hooks/pre-commit"},
		{"directory that became a file", dir(changes.TypeChanged, "/p/.git", ""), "/p/.git/hooks/pre-commit"},
		{"moved directory", dir(changes.Renamed, "/p/new", "/p/old"), "/p/new/.envrc"},
		{"deleted directory beside", dir(changes.Deleted, "/p/.github", ""), ""},
		{"attributes of the directory", dir(changes.Attributes, "/p/.git", ""), ""},
		{"file beside", file(changes.Deleted, "/p/.git/hooks/other", ""), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := takesAlong(tt.c, held); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStorageIsTheRealPlace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		dir + "/link":          dir + "/real",
		dir + "/link/not/yet":  dir + "/real/not/yet",
		dir + "/none/../x":     dir + "/x",
		dir + "/real/":         dir + "/real",
		dir + "/not/there/yet": dir + "/not/there/yet",
	} {
		if e, err := New(in); err != nil || e.Storage != want {
			t.Errorf("%s: %v %v, want %s", in, e, err, want)
		}
	}
	if _, err := New("/"); fault.CodeOf(err) != fault.Usage {
		t.Errorf("/: %v", err)
	}
}

func TestADamagedSandboxIsListedAndCanBeDeleted(t *testing.T) {
	e, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(e.Storage, "broken")
	if err := os.MkdirAll(filepath.Join(dir, "upper", "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sandbox.json"), []byte("{not json"), 0o600); err != nil {
		t.Fatal(err)
	}
	infos, err := e.List(t.Context(), true)
	if err != nil || len(infos) != 1 || infos[0].Problem == "" || infos[0].Changes != -1 {
		t.Fatalf("%+v %v", infos, err)
	}
	if _, err := e.Changes(t.Context(), "broken", Query{}); fault.CodeOf(err) != fault.Damaged {
		t.Errorf("Changes: %v", err)
	}
	if err := e.Delete(t.Context(), "broken"); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(e.Storage); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if err := e.Delete(t.Context(), "broken"); fault.CodeOf(err) != fault.NoSandbox {
		t.Errorf("second delete: %v", err)
	}
}
