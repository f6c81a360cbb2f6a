package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// home gives the test an empty home with an optional configuration file.
func home(t *testing.T, text string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv(StorageVariable, "")
	file = filepath.Join(dir, ".config", "sandbox", "config.toml")
	if text != "" {
		write(t, file, text)
	}
	return dir, file
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDefaults(t *testing.T) {
	dir, _ := home(t, "")
	s, err := Load(Flags{})
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{Name: Value{"sandbox", "default"}, StorageDir: Value{dir + "/.sandboxes", "default"}, Net: Value{"none", "default"}, RenameEmulation: Value{"true", "default"}}
	if s != want {
		t.Errorf("got %+v", s)
	}
}

func TestFlagsBeatEnvironmentBeatsFile(t *testing.T) {
	dir, file := home(t, "# mine\nname = \"fromfile\"\nnet = 'host'\n\nstorage_dir = \"~/file\"\n")
	s, err := Load(Flags{})
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Name: Value{"fromfile", file + ":2"}, Net: Value{"host", file + ":3"},
		StorageDir: Value{dir + "/file", file + ":5"}, File: file,
		RenameEmulation: Value{"true", "default"},
	}
	if s != want {
		t.Errorf("file: got %+v", s)
	}

	t.Setenv(StorageVariable, "/from/env")
	s, err = Load(Flags{Name: "flag"})
	if err != nil {
		t.Fatal(err)
	}
	if s.StorageDir.Text != "/from/env" || s.Name != (Value{"flag", "flag --name"}) || s.Net.Text != "host" {
		t.Errorf("environment: got %+v", s)
	}

	s, err = Load(Flags{StorageDir: "rel", NoFile: true})
	if err != nil {
		t.Fatal(err)
	}
	wd, _ := os.Getwd()
	if s.StorageDir.Text != filepath.Join(wd, "rel") || s.Net.Text != "none" || s.File != "" {
		t.Errorf("flags: got %+v", s)
	}
}

func TestXDGConfigHome(t *testing.T) {
	home(t, `name = "wrong"`)
	xdg := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", xdg)
	write(t, xdg+"/sandbox/config.toml", `name = "right"`)
	if s, err := Load(Flags{}); err != nil || s.Name.Text != "right" {
		t.Errorf("%+v %v", s, err)
	}
}

func TestWrongFilesSayWhere(t *testing.T) {
	tests := []struct {
		name, text, where, reason string
	}{
		{"unknown key", "name = \"x\"\n\ncolour = 1\n", ":3", `unknown key "colour"`},
		{"unknown table", "[net]\nmode = 1\n", ":1", "net must be a string"},
		{"unknown table name", "\n[ui]\ntheme = \"x\"\n", ":2", `unknown key "ui"`},
		{"dotted key", "\nnet.mode = \"host\"\n", ":2", "net must be a string"},
		{"wrong type", "\n\nname = 7\n", ":3", "name must be a string"},
		{"a switch in quotes", "rename_emulation = \"no\"\n", ":1", "must be true or false"},
		{"a list", "storage_dir = [\"/x\"]\n", ":1", "storage_dir must be a string"},
		{"bad name", "name = \"../x\"\n", ":1", "it begins with '.'"},
		{"bad net", "net = \"wifi\"\n", ":1", "there is no such network"},
		{"relative storage", "storage_dir = \"x\"\n", ":1", "must begin with / or ~/"},
		{"syntax", "name = \"x\"\nnet = host\n", ":2", ""},
		{"duplicate", "name = \"x\"\nname = \"y\"\n", ":2", ""},
		{"case matters", "Name = \"x\"\n", ":1", `unknown key "Name"`},
		{"escape in a key", "\"a\\u001b[31m\" = 1\n", ":1", `unknown key "a\x1b[31m"`},
		{"not UTF-8", "name = \"\xff\"\n", ":1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, file := home(t, tt.text)
			_, err := Load(Flags{})
			var fe *fault.Error
			if !errors.As(err, &fe) || fe.Code != fault.Config {
				t.Fatalf("got %v", err)
			}
			if fe.Path != file+tt.where || !strings.Contains(fe.Error(), tt.reason) || fe.Hint == "" {
				t.Errorf("got %q at %q", fe.Error(), fe.Path)
			}
			if fault.ExitCode(err) != 2 {
				t.Errorf("exit code %d", fault.ExitCode(err))
			}
		})
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir, _ := home(t, "")
	fifo := dir + "/fifo"
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"missing": dir + "/none", "directory": dir, "fifo": fifo} {
		t.Run(name, func(t *testing.T) {
			if _, err := Load(Flags{File: path}); fault.CodeOf(err) != fault.Config {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, ok := range []string{"a", "A-b_c.9", "_x", "fix-login-2", strings.Repeat("a", 64)} {
		if err := CheckName(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{"", ".", "..", ".hidden", "-x", "--name", "a/b", "/", "a b", "a\n", "a\x00", "é", strings.Repeat("a", 65)} {
		if err := CheckName(bad); fault.CodeOf(err) != fault.Usage {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestStorageNeedsAHome(t *testing.T) {
	home(t, "")
	os.Unsetenv("HOME") //nolint:errcheck // Setenv in home restores it
	if _, err := Load(Flags{}); fault.CodeOf(err) != fault.Usage {
		t.Errorf("without HOME: %v", err)
	}
	if s, err := Load(Flags{StorageDir: "/x"}); err != nil || s.StorageDir.Text != "/x" {
		t.Errorf("with --storage-dir: %+v %v", s, err)
	}
}
