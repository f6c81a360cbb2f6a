// Package cli runs the real binary through scripts that read as its
// documentation: each file in testdata is one behaviour, run as root and as an
// ordinary user.
package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sandbox/internal/testbin"
	"sandbox/internal/testuser"
)

func TestMain(m *testing.M) { os.Exit(testbin.Main(m)) }

func TestScripts(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir:                 "testdata",
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
			Setup:               setup,
			Condition: func(cond string) (bool, error) {
				switch cond {
				case "root":
					return os.Getuid() == 0, nil
				default:
					return false, fmt.Errorf("unknown condition %q", cond)
				}
			},
			Cmds: map[string]func(*testscript.TestScript, bool, []string){
				"code": code, "json": jsonValue, "remember": remember, "unchanged": unchanged,
				"sametree": sameTree, "bytes": writeBytes, "hasbytes": hasBytes, "block": block, "running": running,
				"later": later, "pty": pty,
			},
		})
	})
}

// setup gives each script a home of its own, a project in it as working
// directory, and no sandbox left behind.
func setup(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(filepath.Join(home, "p"), 0o755); err != nil { //nolint:gosec // a test's home
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("PATH", filepath.Dir(testbin.Path())+":"+os.Getenv("PATH"))
	env.Setenv("SHELL", "/bin/sh")
	env.Setenv("LANG", "C.UTF-8")
	env.Setenv("UID", strconv.Itoa(os.Getuid()))
	env.Cd = filepath.Join(home, "p")
	env.Defer(func() {
		for _, pattern := range []string{"home/.sandboxes/*", "home/kept/*", "storage/*", "storage/*/*"} {
			found, _ := filepath.Glob(filepath.Join(env.WorkDir, pattern, "lock"))
			for _, lock := range found {
				end(env, filepath.Dir(lock))
			}
		}
	})
	return nil
}

// end stops what a script left running.
func end(env *testscript.Env, dir string) {
	cmd := exec.Command(testbin.Path(), //nolint:gosec // our binary
		"--no-config", "--storage-dir", filepath.Dir(dir), "stop", filepath.Base(dir))
	cmd.Env = append(os.Environ(), "HOME="+env.Getenv("HOME"))
	if out, err := cmd.CombinedOutput(); err != nil && !bytes.Contains(out, []byte("no sandbox of that name")) {
		env.T().Log("stop", dir, err, string(out))
	}
}

// code N CMD…: the command must exit with exactly N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError) //nolint:errorlint // ts.Exec returns it bare
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\nstdout: %sstderr: %s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// json KEY.KEY.… [VALUE]: the last standard output is exactly one JSON
// document, and has that value (as JSON prints it, strings bare). Numbers index
// lists; len is a list's length; without VALUE the key must be there.
func jsonValue(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: json KEY.KEY [VALUE]")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var doc any
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("standard output is not JSON: %v\n%s", err, ts.ReadFile("stdout"))
	}
	if dec.More() {
		ts.Fatalf("more than one document:\n%s", ts.ReadFile("stdout"))
	}
	value, found := lookUp(doc, strings.Split(args[0], "."))
	text := fmt.Sprint(value)
	ok := found && (len(args) == 1 || text == args[1])
	if ok == neg {
		ts.Fatalf("%s is %q (there: %v)\n%s", args[0], text, found, ts.ReadFile("stdout"))
	}
}

func lookUp(v any, path []string) (any, bool) {
	for _, key := range path {
		switch x := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = x[key]; !ok {
				return nil, false
			}
		case []any:
			if key == "len" {
				return len(x), true
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// block VAR N: puts the id of the Nth block of the last `diff --json` into an
// environment variable, counted from 1 over all files.
func block(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: block VAR N")
	}
	var doc struct {
		Files []struct {
			Hunks []struct{ ID string }
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	for _, f := range doc.Files {
		for _, h := range f.Hunks {
			if n--; n == 0 {
				ts.Setenv(args[0], h.ID)
				return
			}
		}
	}
	ts.Fatalf("there is no such block in %s", ts.ReadFile("stdout"))
}

// tree describes everything below a directory: names, types, modes, owners,
// contents, modification times.
func tree(dir string) (string, error) {
	var rows []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".sandboxes" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path) //nolint:gosec // a test's file
			if err != nil {
				return err
			}
			content = fmt.Sprintf("%x", sha256.Sum256(b))
		case info.Mode()&fs.ModeSymlink != 0:
			if content, err = os.Readlink(path); err != nil {
				return err
			}
		}
		rel, _ := filepath.Rel(dir, path)
		st := info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // Linux
		row := fmt.Sprintf("%q %v %d:%d %s", rel, info.Mode(), st.Uid, st.Gid, content)
		if !info.IsDir() {
			row += " " + info.ModTime().UTC().Format(time.RFC3339Nano)
		}
		rows = append(rows, row)
		return nil
	})
	sort.Strings(rows)
	return strings.Join(rows, "\n"), err
}

var (
	rememberMu sync.Mutex // protects remembered: scripts run in parallel
	remembered = map[*testscript.TestScript]map[string]string{}
)

// remember DIR: keeps what is in a directory for unchanged.
func remember(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range args {
		text, err := tree(ts.MkAbs(dir))
		ts.Check(err)
		rememberMu.Lock()
		if remembered[ts] == nil {
			remembered[ts] = map[string]string{}
		}
		remembered[ts][dir] = text
		rememberMu.Unlock()
	}
}

// unchanged DIR: the directory is as it was when it was remembered.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	for _, dir := range args {
		now, err := tree(ts.MkAbs(dir))
		ts.Check(err)
		rememberMu.Lock()
		before := remembered[ts][dir]
		rememberMu.Unlock()
		if (now == before) == neg {
			ts.Fatalf("%s:\nbefore\n%s\nnow\n%s", dir, before, now)
		}
	}
}

// sametree A B: names, types, modes, contents and times are equal.
func sameTree(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sametree A B")
	}
	a, err := tree(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := tree(ts.MkAbs(args[1]))
	ts.Check(err)
	if (a == b) == neg {
		ts.Fatalf("%s\n%s\n%s\n%s", args[0], a, args[1], b)
	}
}

// bytes FILE TEXT: writes a Go-quoted text, for bytes that a script cannot hold.
func writeBytes(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: bytes FILE TEXT")
	}
	name, text := unquote(ts, args[0]), unquote(ts, args[1])
	ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644)) //nolint:gosec // a test's file
}

// hasbytes FILE TEXT: the file holds exactly this Go-quoted text.
func hasBytes(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: hasbytes FILE TEXT")
	}
	var got string
	if args[0] == "stdout" || args[0] == "stderr" {
		got = ts.ReadFile(args[0])
	} else {
		b, err := os.ReadFile(ts.MkAbs(unquote(ts, args[0])))
		ts.Check(err)
		got = string(b)
	}
	if want := unquote(ts, args[1]); (got == want) == neg {
		ts.Fatalf("%s holds %q, want %q", args[0], got, want)
	}
}

func unquote(ts *testscript.TestScript, s string) string {
	text, err := strconv.Unquote(`"` + s + `"`)
	ts.Check(err)
	return text
}

// running NAME: a command in the sandbox is up and has made the file NAME.
func running(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if ts.Exec("sandbox", append([]string{"--net=none", "test", "-e"}, args...)...) == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("no %v in the sandbox after 20 seconds", args)
		}
	}
}

// later: the clock of the file system has moved, so that a change made now is
// newer than one made before.
func later(ts *testscript.TestScript, _ bool, _ []string) { time.Sleep(30 * time.Millisecond) }
