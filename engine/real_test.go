package engine

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/internal/testuser"
)

func TestMain(m *testing.M) {
	Reexec(os.Args)
	if os.Getenv(attackVar) != "" && os.Getenv("SANDBOX") != "" {
		attack()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// world is a project on the host and an engine with a storage beside it.
type world struct {
	*testing.T
	engine *Engine
	dir    string // the project
}

func newWorld(t *testing.T, files map[string]string) world {
	t.Helper()
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	if err != nil {
		t.Fatal(err)
	}
	w := world{T: t, dir: filepath.Join(home, "project")}
	if w.engine, err = New(filepath.Join(home, ".sandboxes")); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := w.engine.Delete(context.Background(), "s"); err != nil && fault.CodeOf(err) != fault.NoSandbox {
			t.Error(err)
		}
	})
	return w
}

// run runs a shell script in the project, in the sandbox, and returns what it printed.
func (w world) run(script string) string {
	w.Helper()
	out, err := os.Create(filepath.Join(w.TempDir(), "out"))
	if err != nil {
		w.Fatal(err)
	}
	defer out.Close()
	code, err := w.engine.Run(w.Context(), RunOptions{
		Name: "s", Dir: w.dir, Argv: []string{"/bin/sh", "-ec", script}, Env: os.Environ(), Stdout: out, Stderr: out,
	})
	text, rerr := os.ReadFile(out.Name())
	if err != nil || code != 0 || rerr != nil {
		w.Fatalf("%s: %d %v %v\n%s", script, code, err, rerr, text)
	}
	return string(text)
}

func (w world) path(name string) string { return filepath.Join(w.dir, name) }

func TestReadSandboxSeesWhatProgramsInsideSee(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{
			"same": "same\n", "edited": "old\n", "gone": "gone\n", "type": "file\n",
			"moved/deep/same": "below a moved directory\n", "moved/edited": "old\n",
			"fresh/hidden": "hidden\n", "removed/below": "below\n",
		})
		w.run(`echo new > edited; rm gone type; ln -s target type; echo added > added
			cp -a moved m && rm -r moved && mv m renamed || true
			echo more >> renamed/edited
			rm -r fresh removed; mkdir fresh; echo only > fresh/only`)
		tests := []struct {
			name string
			want diff.Side
		}{
			{"same", diff.Side{Type: entry.File, Data: []byte("same\n")}},
			{"edited", diff.Side{Type: entry.File, Data: []byte("new\n")}},
			{"added", diff.Side{Type: entry.File, Data: []byte("added\n")}},
			{"gone", diff.Side{Type: entry.None}},
			{"never", diff.Side{Type: entry.None}},
			{"never/below", diff.Side{Type: entry.None}},
			{"same/below-a-file", diff.Side{Type: entry.None}},
			{"type", diff.Side{Type: entry.Symlink, Target: "target"}},
			{"moved/edited", diff.Side{Type: entry.None}},
			{"renamed/edited", diff.Side{Type: entry.File, Data: []byte("old\nmore\n")}},
			{"renamed/deep/same", diff.Side{Type: entry.File, Data: []byte("below a moved directory\n")}},
			{"fresh/hidden", diff.Side{Type: entry.None}},
			{"fresh/only", diff.Side{Type: entry.File, Data: []byte("only\n")}},
			{"removed/below", diff.Side{Type: entry.None}},
			{"../.sandboxes/s/sandbox.json", diff.Side{Type: entry.None}},
		}
		for _, tt := range tests {
			got, print, err := w.engine.ReadSandbox(t.Context(), "s", w.path(tt.name))
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			if got.Type != tt.want.Type || got.Target != tt.want.Target || !bytes.Equal(got.Data, tt.want.Data) {
				t.Errorf("%s is %+v", tt.name, got)
			}
			if tt.want.Type == entry.File && print != entry.PrintBytes(tt.want.Data) {
				t.Errorf("%s has the print %s", tt.name, print)
			}
		}
	})
}

// A directory that was renamed by rename(2) is a redirect in mode P, and
// refused by the kernel in mode U: the content is found in both cases.
func TestReadSandboxBelowARenamedDirectory(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"old/sub/same": "same\n", "old/sub/edited": "one\n", "old/gone": "x\n"})
		w.run("mv old new; echo two >> new/sub/edited; rm new/gone")
		for name, want := range map[string]string{"new/sub/same": "same\n", "new/sub/edited": "one\ntwo\n"} {
			got, _, err := w.engine.ReadSandbox(t.Context(), "s", w.path(name))
			if err != nil || string(got.Data) != want {
				t.Errorf("%s: %q %v", name, got.Data, err)
			}
		}
		for _, name := range []string{"old/sub/same", "new/gone", "old"} {
			got, _, err := w.engine.ReadSandbox(t.Context(), "s", w.path(name))
			if err != nil || got.Type != entry.None {
				t.Errorf("%s: %+v %v", name, got, err)
			}
		}
	})
}

func TestWriteSandboxIsSeenInsideAndKeepsWhatItMust(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"edited": "old\n", "same": "same\n"})
		w.run("echo new > edited; chmod 751 edited; ln -s edited link")
		_, seen, err := w.engine.ReadSandbox(t.Context(), "s", w.path("edited"))
		if err != nil {
			t.Fatal(err)
		}
		mine := []byte("mine, exact\r\n\xff no end")
		print, err := w.engine.WriteSandbox(t.Context(), "s", w.path("edited"), mine, seen)
		if err != nil || print != entry.PrintBytes(mine) {
			t.Fatalf("%s %v", print, err)
		}
		if got := w.run("cat edited; stat -c %a edited"); got != string(mine)+"751\n" {
			t.Errorf("inside: %q", got)
		}
		if b, err := os.ReadFile(w.path("edited")); err != nil || string(b) != "old\n" {
			t.Errorf("the host has %q %v", b, err)
		}

		// What was looked at is not there any more.
		w.run("echo other > edited")
		if _, err := w.engine.WriteSandbox(t.Context(), "s", w.path("edited"), mine, print); fault.CodeOf(err) != fault.Stale {
			t.Errorf("stale write: %v", err)
		}
		if got := w.run("cat edited"); got != "other\n" {
			t.Errorf("after a stale write: %q", got)
		}

		// A file that is not changed yet, with the sandbox down.
		if err := w.engine.Stop(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.engine.WriteSandbox(t.Context(), "s", w.path("same"), mine, entry.PrintBytes([]byte("same\n"))); err != nil {
			t.Fatal(err)
		}
		if info, err := w.engine.Info(t.Context(), "s"); err != nil || info.Running {
			t.Errorf("a write left the sandbox running: %+v %v", info, err)
		}
		if got := w.run("cat same"); got != string(mine) {
			t.Errorf("inside: %q", got)
		}
		if _, err := w.engine.WriteSandbox(t.Context(), "s", w.path("link"), mine, ""); fault.CodeOf(err) != fault.Usage {
			t.Errorf("a write to a link: %v", err)
		}
		if _, err := w.engine.WriteSandbox(t.Context(), "s", w.path("brand-new"), mine, entry.PrintNone); err != nil {
			t.Error(err)
		}
	})
}

func TestDecisionsAreBoundToWhatWasSeen(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"a": "1\n2\n3\n", "b": "1\n"})
		w.run("echo 4 >> a; echo 2 >> b")
		d, err := w.engine.Diff(t.Context(), "s", w.path("a"))
		if err != nil || len(d.Hunks) != 1 {
			t.Fatalf("%+v %v", d, err)
		}
		decision := Decision{Path: w.path("a"), Hunks: []string{d.Hunks[0].ID}, Host: d.HostHash, Sandbox: d.SandboxHash}
		both := DecideOptions{Decisions: []Decision{{Path: w.path("b")}, decision}}
		if err := os.WriteFile(w.path("a"), []byte("1\n2\n3\nmine\n"), 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := w.engine.Accept(t.Context(), "s", both); fault.ExitCode(err) != 4 {
			t.Errorf("the host moved: %v", err)
		}
		if b, _ := os.ReadFile(w.path("b")); string(b) != "1\n" {
			t.Errorf("a stale decision let another one through: %q", b)
		}
		gone := DecideOptions{Decisions: []Decision{{Path: w.path("never"), Host: "none"}}}
		if _, err := w.engine.Accept(t.Context(), "s", gone); fault.CodeOf(err) != fault.Stale {
			t.Errorf("a change that is gone: %v", err)
		}
		if _, err := w.engine.Diff(t.Context(), "s", w.path("never")); fault.CodeOf(err) != fault.NoMatch {
			t.Errorf("diff of what is not changed: %v", err)
		}
	})
}
