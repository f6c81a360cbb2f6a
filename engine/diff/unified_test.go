package diff

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sandbox/engine/entry"
)

// change is one path of a patch: host at old, sandbox at name.
type change struct {
	old, name     string
	host, sandbox Side
}

func at(name string, host, sandbox Side) change { return change{name, name, host, sandbox} }

func (c change) patch(t *testing.T, context int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Unified(&b, c.old, c.name, c.host, c.sandbox, context); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tool is a program that applies patches.
type tool struct {
	name string
	argv []string
	// exact says that it sets the whole mode and not just the executable bit.
	exact bool
}

var (
	gitApply = tool{"git apply", []string{"git", "apply", "--whitespace=nowarn", "-"}, false}
	gnuPatch = tool{"patch", []string{"patch", "-p1", "--force", "--no-backup-if-mismatch"}, true}
)

// run applies a patch in dir and returns what the tool said.
func (a tool) run(t *testing.T, dir string, patch []byte) (string, error) {
	t.Helper()
	cmd := exec.Command(a.argv[0], a.argv[1:]...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(patch)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	var missing *exec.Error
	if errors.As(err, &missing) {
		t.Fatalf("this test needs the program: %v", err)
	}
	return string(out), err
}

// check applies the changes as one patch to a directory that has the host's
// versions and asserts that it has the sandbox's afterwards, and nothing else.
func (a tool) check(t *testing.T, changes []change, context int) {
	t.Helper()
	dir := t.TempDir()
	var patch []byte
	for _, c := range changes {
		putSide(t, dir, c.old, c.host)
		patch = append(patch, c.patch(t, context)...)
	}
	out, err := a.run(t, dir, patch)
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", a.name, err, out, limit(patch))
	}
	want := map[string]bool{}
	for _, c := range changes {
		if !missing(c.sandbox) {
			want[c.name] = true
		}
		a.compare(t, dir, c, out)
	}
	for _, name := range filesBelow(t, dir) {
		if !want[name] {
			t.Errorf("%s left %q\n%s\n%s", a.name, name, out, limit(patch))
		}
	}
}

func (a tool) compare(t *testing.T, dir string, c change, out string) {
	t.Helper()
	path := filepath.Join(dir, c.name)
	info, err := os.Lstat(path)
	if missing(c.sandbox) {
		if err == nil {
			t.Errorf("%s: %q is still there\n%s\n%s", a.name, c.name, out, limit(c.patch(t, 3)))
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v\n%s\n%s", a.name, err, out, limit(c.patch(t, 3)))
		return
	}
	var got Side
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		if err != nil {
			t.Fatal(err)
		}
		got = Side{Type: entry.Symlink, Mode: c.sandbox.Mode, Target: target}
	} else {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got = Side{Type: entry.File, Mode: uint32(info.Mode().Perm()), Data: data}
	}
	want := c.sandbox
	if !a.exact {
		got.Mode, want.Mode = got.Mode&0o100, want.Mode&0o100
	}
	if !sameSide(got, want) {
		t.Errorf("%s: %q\nhost    %q\nsandbox %q %o\ngot     %q %o\n%s\n%s", a.name, c.name,
			limit(c.host.Data), limit(want.Data), want.Mode, limit(got.Data), got.Mode, out, limit(c.patch(t, 3)))
	}
}

func putSide(t *testing.T, dir, name string, s Side) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	switch s.Type {
	case entry.File:
		if err = os.WriteFile(path, s.Data, 0o600); err == nil {
			err = os.Chmod(path, fs.FileMode(s.Mode))
		}
	case entry.Symlink:
		err = os.Symlink(s.Target, path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func limit(b []byte) []byte { return b[:min(len(b), 2000)] }

// shapes are changes of every form that both tools understand.
func shapes() []change {
	nothing := Side{Type: entry.None}
	link := func(target string) Side { return Side{Type: entry.Symlink, Mode: 0o777, Target: target} }
	mode := func(s Side, m uint32) Side { s.Mode = m; return s }
	ten := numbered(10, "l")
	return []change{
		at("edit", file(ten), file(strings.Replace(ten, "l 5\n", "L 5\n", 1))),
		at("first-line", file(ten), file("new\n"+ten)),
		at("last-line", file(ten), file(ten+"new\n")),
		at("loses-newline", file("a\nb\n"), file("a\nb")),
		at("gains-newline", file("a\nb"), file("a\nb\n")),
		at("noeol-both", file("a\nb"), file("c\nb")),
		at("crlf", file("a\r\nb\r\nc\r\n"), file("a\r\nX\r\nc\r\n")),
		at("lf-to-crlf", file("a\nb\n"), file("a\r\nb\r\n")),
		at("mixed", file("a\r\nb\nc\r\n"), file("a\r\nb\r\nc\r\n")),
		at("bom", file("a\n"), file("\xef\xbb\xbfa\n")),
		at("latin1", file("caf\xe9\n"), file("caf\xe8\n")),
		at("emptied", file("a\nb\n"), file("")),
		at("filled", file(""), file("a\nb\n")),
		at("filled-noeol", file(""), file("a")),
		at("only-newline", file(""), file("\n")),
		at("late-nul", file(strings.Repeat("x\n", 5000)+"a\x00b\n"), file(strings.Repeat("x\n", 5000)+"a\x00c\n")),
		at("looks-like-a-patch", file("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n"), file("--- a/x\n+++ b/x\n@@ -1 +1 @@\n+a\n")),
		at("dir/created", nothing, file("a\nb\n")),
		at("created-noeol", nothing, file("a\nb")),
		at("created-empty", nothing, file("")),
		at("created-exec", nothing, mode(file("#!/bin/sh\n"), 0o755)),
		at("deleted", file("a\nb\n"), nothing),
		at("deleted-noeol", file("a"), nothing),
		at("deleted-empty", file(""), nothing),
		at("mode", file("a\n"), mode(file("a\n"), 0o755)),
		at("mode-back", mode(file("a\n"), 0o755), file("a\n")),
		at("mode-and-edit", file("a\nb\n"), mode(file("a\nc\n"), 0o755)),
		{"old", "new", file(ten), file(ten)},
		{"old-edited", "dir/new-edited", file(ten), file(strings.Replace(ten, "l 5\n", "L 5\n", 1))},
		{"old-mode", "new-mode", file("a\n"), mode(file("a\n"), 0o755)},
		{"old-empty", "new-empty", file(""), file("")},
		at("link", nothing, link("there/and/back")),
		at("link-moved", link("one"), link("two")),
		at("link-gone", link("one"), nothing),
		{"link-old", "link-new", link("one"), link("one")},
		at("file-to-link", file("a\nb\n"), link("there")),
		at("link-to-file", link("there"), file("a\nb\n")),
	}
}

// names are file names that patches are known to break on. (The longest one
// leaves room for the name of the temporary file that patch makes.)
var names = []string{
	"plain", "with space", " lead", "trail ", "two  spaces", "a b/a b", "x b/x", "a/b/c", `q"uote`, `back\slash`, "a'b",
	"tab\there", "new\nline", "cr\rhere", "esc\x1b[31m", "bell\a", "del\x7f", "-rf", "--", "*", "!x", "#c", "日本語/ü.md",
	"caf\xe9", "\xff\xfe", "\xff space\n", "dev/null", "date\t2020-01-01", "x 2020-01-01 10:00:00", "[a]", "$HOME", "~",
	strings.Repeat("n", 240), "trail\t", "space then \"quote\"",
}

func TestUnifiedShapes(t *testing.T) {
	for _, a := range []tool{gitApply, gnuPatch} {
		for _, c := range shapes() {
			t.Run(a.name+"/"+c.name, func(t *testing.T) { a.check(t, []change{c}, 3) })
		}
		t.Run(a.name+"/all at once", func(t *testing.T) { a.check(t, shapes(), 3) })
		t.Run(a.name+"/little context", func(t *testing.T) { a.check(t, shapes(), 1) })
		t.Run(a.name+"/much context", func(t *testing.T) { a.check(t, shapes(), 1000) })
	}
}

func TestUnifiedNames(t *testing.T) {
	nothing := Side{Type: entry.None}
	for _, a := range []tool{gitApply, gnuPatch} {
		for i, name := range names {
			t.Run(fmt.Sprintf("%s/%d", a.name, i), func(t *testing.T) {
				for _, c := range []change{
					at(name, file("a\nb\n"), file("a\nc\n")),
					at(name, nothing, file("a\n")),
					at(name, nothing, file("")),
					at(name, file("a\n"), nothing),
					at(name, file(""), nothing),
					at(name, file("a\n"), Side{Type: entry.File, Mode: 0o755, Data: []byte("a\n")}),
					{name, "renamed", file("a\nb\n"), file("a\nb\n")},
					{"was", name, file("a\nb\n"), file("a\nb\nc\n")},
				} {
					a.check(t, []change{c}, 3)
				}
			})
		}
	}
}

func TestUnifiedLongestName(t *testing.T) {
	gitApply.check(t, []change{at(strings.Repeat("n", 255), file("a\n"), file("b\n"))}, 3)
}

func TestUnifiedModesBeyondGit(t *testing.T) {
	for _, modes := range [][2]uint32{{0o644, 0o600}, {0o664, 0o644}, {0o600, 0o700}, {0o664, 0o775}} {
		c := at("f", Side{Type: entry.File, Mode: modes[0], Data: []byte("a\n")},
			Side{Type: entry.File, Mode: modes[1], Data: []byte("b\n")})
		gitApply.check(t, []change{c}, 3)
		gnuPatch.check(t, []change{c}, 3)
	}
}

func TestUnifiedBinary(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	random := func(n int) Side {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		return file("\x00" + string(data))
	}
	nothing := Side{Type: entry.None}
	var changes []change
	for i := range 120 { // every length of a line of the encoding
		changes = append(changes, at(fmt.Sprint("b", i), random(i), random(i*3)))
	}
	changes = append(changes,
		at("created", nothing, random(1000)),
		at("deleted", random(1000), nothing),
		at("large", random(300_000), random(400_000)),
		at("zeros", file(strings.Repeat("\x00", 100_000)), file("text\n")),
		at("from empty", file(""), random(10)),
		at("to empty", random(10), file("")),
		at("utf-16", file("\xff\xfea\x00\n\x00"), file("\xff\xfeb\x00\n\x00")),
		at("name\n\xff", random(10), random(10)),
		change{"old", "new", random(50), random(50)},
	)
	gitApply.check(t, changes, 3)
}

func TestUnifiedOnRandomPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	nothing := Side{Type: entry.None}
	for batch := range 8 {
		var changes []change
		for i := range 50 {
			host, sandbox := randomPair(rng)
			if batch%2 == 0 { // what only git can do, and what both can
				host.Data, sandbox.Data = noUTF16(host.Data), noUTF16(sandbox.Data)
			}
			name := fmt.Sprintf("%d/%s", i, names[rng.IntN(len(names))])
			c := at(name, host, sandbox)
			switch rng.IntN(8) {
			case 0:
				c.host = nothing
			case 1:
				c.sandbox = nothing
			case 2:
				c.old = fmt.Sprintf("%d-old/%s", i, names[rng.IntN(len(names))])
			}
			changes = append(changes, c)
		}
		gitApply.check(t, changes, rng.IntN(4)+1)
		if batch%2 == 0 {
			gnuPatch.check(t, changes, rng.IntN(4)+1)
		}
	}
}

func noUTF16(data []byte) []byte {
	if isUTF16(data) {
		return data[2:]
	}
	return data
}

// TestUnifiedBack takes a patch back.
func TestUnifiedBack(t *testing.T) {
	back := gitApply
	back.argv = []string{"git", "apply", "--whitespace=nowarn", "--reverse", "-"}
	changes := append(shapes(), at("binary", file("\x00a"), file("\x00b")))
	dir := t.TempDir()
	var patch []byte
	for _, c := range changes {
		if c.host.Type != c.sandbox.Type && !missing(c.host) && !missing(c.sandbox) {
			continue // git does not take back a change of type in one patch
		}
		putSide(t, dir, c.name, c.sandbox)
		patch = append(patch, c.patch(t, 3)...)
	}
	if out, err := back.run(t, dir, patch); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range changes {
		if c.host.Type != c.sandbox.Type && !missing(c.host) && !missing(c.sandbox) {
			continue
		}
		back.compare(t, dir, change{c.name, c.old, c.sandbox, c.host}, "")
	}
}

func TestUnifiedText(t *testing.T) {
	ten := numbered(10, "l")
	nothing := Side{Type: entry.None}
	for _, c := range []struct {
		what string
		change
		context int
		want    string
	}{
		{"no difference", at("f", file("a\n"), file("a\n")), 3, ""},
		{"directory", at("f", nothing, Side{Type: entry.Dir, Mode: 0o755}), 3, ""},
		{"one line", at("f", file("a\n"), file("b\n")), 3, `diff --git a/f b/f
index 78981922613b2afb6025042ff6bd878ac1994e85..61780798228d17af2d34fce4cfbdf35556832472 100644
--- a/f
+++ b/f
@@ -1 +1 @@
-a
+b
`},
		{"two hunks", at("f", file(ten), file(strings.NewReplacer("l 1\n", "", "l 8\n", "x\ny\n").Replace(ten))), 1, `diff --git a/f b/f
index ` + file2(ten) + `..` + file2(strings.NewReplacer("l 1\n", "", "l 8\n", "x\ny\n").Replace(ten)) + ` 100644
--- a/f
+++ b/f
@@ -1,3 +1,2 @@
 l 0
-l 1
 l 2
@@ -8,3 +7,4 @@
 l 7
-l 8
+x
+y
 l 9
`},
		{"created with a hard name", at("a b\n", nothing, file("x")), 3, `diff --git "a/a b\n" "b/a b\n"
new file mode 100644
index 0000000000000000000000000000000000000000..` + file2("x") + `
--- /dev/null
+++ "b/a b\n"
@@ -0,0 +1 @@
+x
\ No newline at end of file
`},
	} {
		t.Run(c.what, func(t *testing.T) {
			if got := string(c.patch(t, c.context)); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func file2(data string) string { return blobOf(file(data)).name() }

type failingWriter struct{ left int }

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, fs.ErrClosed
	}
	return len(p), nil
}

func TestUnifiedReportsAFailedWrite(t *testing.T) {
	for _, data := range []string{"a\n", "\x00" + strings.Repeat("q", 9000)} {
		err := Unified(&failingWriter{left: 10}, "f", "f", Side{Type: entry.None}, file(data), 3)
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%.5q: %v", data, err)
		}
	}
}
