package ignore_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sandbox/engine/ignore"
	"sandbox/internal/testlong"
)

// disk gives the rule files of a tree on disk.
type disk struct{ root string }

func (d disk) Load(dir string) ignore.Dir {
	read := func(name string) ignore.File {
		path := filepath.Join(d.root, dir, name)
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			return ignore.File{}
		}
		data, _ := os.ReadFile(path)
		return ignore.File{Path: path, Data: data}
	}
	_, err := os.Lstat(filepath.Join(d.root, dir, ".git"))
	return ignore.Dir{
		Repository: err == nil, Git: read(".gitignore"), Exclude: read(".git/info/exclude"),
	}
}

// Names and patterns are drawn from few parts, so that they often meet.
var (
	nameParts = []string{"a", "b", "ab", "foo", "bar", "x.o", "y.log", "build", "A", "é", "-", " ", "a b", "c ", "[", "]", "a]", "\\", "!", "#", "*", "?", "a\tb", "z~", "\x01", "1", "a-c", "\xff"}
	ruleParts = []string{
		"a", "b", "ab", "foo", "bar", "*.o", "*.log", "build", "*", "?", "**", "***", "a*", "*b", "*a*", "??", "f?o", "[ab]", "[!a]", "[^a-b]", "[a-c]", "[]a]", "[]-a]", "[[:alpha:]]",
		"[[:digit:][:space:]]", "[[:upper:]x]", "[[:nope:]]", "[[:alpha]", "[a", "[", "]", "\\a", "\\*", "\\[", "\\ ", " ", "\\\\", "\\!", "\\#", "!", "#", "é", "[é]", "a**", "**a", "a**b", "foo**",
		"x.?", "*.*", "*.[ol]*", "[a-", "[\\]]", "[\\a-c]", "[*]", "[?]", "[[]", "[a/b]", "\\", "z~", "*~", "[[:punct:]]", "[![:alnum:]]*", "-", "\x01", "[[:cntrl:]]", "[--c]", "[a-\\c]", "\xff", "[\x80-\xff]",
	}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func randomRules(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(20) == 0 {
		b.WriteString("\xef\xbb\xbf")
	}
	for range 1 + r.IntN(7) {
		if r.IntN(3) == 0 {
			b.WriteString("!")
		}
		if r.IntN(4) == 0 {
			b.WriteString("/")
		}
		for i := range 1 + r.IntN(3) {
			if i > 0 {
				b.WriteString("/")
			}
			b.WriteString(pick(r, ruleParts))
			if r.IntN(6) == 0 {
				b.WriteString(pick(r, ruleParts))
			}
		}
		if r.IntN(4) == 0 {
			b.WriteString("/")
		}
		b.WriteString(pick(r, []string{"", "", "", "", " ", "  ", "\\ ", "\\  ", "\t", "\r", " \r"}))
		b.WriteString("\n")
		if r.IntN(10) == 0 {
			b.WriteString("# a\n\n")
		}
	}
	text := b.String()
	if r.IntN(5) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// randomTree makes a repository and returns its paths; true for directories.
func randomTree(t *testing.T, r *rand.Rand, root string) map[string]bool {
	t.Helper()
	paths := map[string]bool{}
	dirs := []string{""}
	for range 45 {
		name := pick(r, nameParts)
		if r.IntN(4) == 0 {
			name += pick(r, nameParts)
		}
		rel := filepath.Join(pick(r, dirs), name)
		if name == "" || paths[rel] || strings.Count(rel, "/") > 4 {
			continue
		}
		if _, err := os.Lstat(filepath.Join(root, rel)); err == nil {
			continue
		}
		isDir := r.IntN(2) == 0
		if isDir {
			must(t, os.Mkdir(filepath.Join(root, rel), 0o755))
			dirs = append(dirs, rel)
		} else if r.IntN(6) == 0 {
			must(t, os.Symlink("..", filepath.Join(root, rel)))
		} else {
			must(t, os.WriteFile(filepath.Join(root, rel), nil, 0o644))
		}
		paths[rel] = isDir
	}
	write := func(rel string) {
		must(t, os.WriteFile(filepath.Join(root, rel), []byte(randomRules(r)), 0o644))
	}
	must(t, os.MkdirAll(filepath.Join(root, ".git/info"), 0o755))
	write(".git/info/exclude")
	for i, dir := range dirs {
		if i > 0 && r.IntN(3) > 0 {
			continue
		}
		rel := filepath.Join(dir, ".gitignore")
		if r.IntN(12) == 0 {
			must(t, os.WriteFile(filepath.Join(root, "rules"), []byte("*\n"), 0o644))
			must(t, os.Symlink(filepath.Join(root, "rules"), filepath.Join(root, rel)))
		} else {
			write(rel)
		}
		paths[rel] = false
	}
	return paths
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// verdict is what git says of one path.
type verdict struct {
	file, text string
	line       int
}

// checkIgnore asks git. The repository is made by this test alone.
func checkIgnore(t *testing.T, root string, paths []string) map[string]verdict {
	t.Helper()
	c := exec.Command("git", "check-ignore", "--no-index", "-z", "-v", "-n", "--stdin")
	c.Dir = root
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	c.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("git check-ignore: %v\n%s", err, stderr.Bytes())
	}
	fields := strings.Split(string(out), "\x00")
	got := map[string]verdict{}
	for i := 0; i+3 < len(fields); i += 4 {
		line, _ := strconv.Atoi(fields[i+1])
		got[fields[i+3]] = verdict{fields[i], fields[i+2], line}
	}
	return got
}

// Random rules on random trees: the same paths are ignored, and by the same
// line of the same file.
func TestEqualsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed to compare with")
	}
	pairs, ignored := 0, 0
	for seed := range uint64(testlong.Pick(60, 3000)) {
		r := rand.New(rand.NewPCG(seed, 7))
		root := t.TempDir()
		// What makes a directory a repository, without asking git for it.
		must(t, os.MkdirAll(filepath.Join(root, ".git/objects"), 0o755))
		must(t, os.MkdirAll(filepath.Join(root, ".git/refs"), 0o755))
		must(t, os.WriteFile(filepath.Join(root, ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
		tree := randomTree(t, r, root)
		var asked []string
		for rel := range tree {
			asked = append(asked, rel)
		}
		want := checkIgnore(t, root, asked)
		j := ignore.New(disk{root}, ignore.Options{})
		for rel, isDir := range tree {
			w, ok := want[rel]
			if !ok {
				t.Fatalf("seed %d: git says nothing about %q", seed, rel)
			}
			pairs++
			hit := w.text != "" && w.text[0] != '!'
			if hit {
				ignored++
			}
			got := j.Of("/"+rel, isDir)
			if (got != nil) != hit {
				t.Errorf("seed %d: %q (directory: %v): git %+v, here %+v\n%s", seed, rel, isDir, w, got, rulesOf(root, tree))
				continue
			}
			if hit && (got.Line != w.line || got.File != filepath.Join(root, w.file)) {
				t.Errorf("seed %d: %q: git says by %s:%d, here by %s:%d", seed, rel, w.file, w.line, got.File, got.Line)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d paths, %d of them ignored", pairs, ignored)
	if ignored < pairs/20 {
		t.Errorf("only %d of %d paths are ignored: the rules and the names do not meet", ignored, pairs)
	}
}

func rulesOf(root string, tree map[string]bool) string {
	var b strings.Builder
	for _, rel := range append([]string{".git/info/exclude"}, gitignores(tree)...) {
		data, _ := os.ReadFile(filepath.Join(root, rel))
		fmt.Fprintf(&b, "%s: %q\n", rel, data)
	}
	return b.String()
}

func gitignores(tree map[string]bool) []string {
	var out []string
	for rel := range tree {
		if filepath.Base(rel) == ".gitignore" {
			out = append(out, rel)
		}
	}
	return out
}
