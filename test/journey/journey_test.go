// Package journey tests the whole way of a day's work: a real program changes
// hundreds of files of a real source tree in a sandbox, and the changes are
// listed, accepted or rejected exactly.
package journey

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"testing"

	"sandbox/internal/testbin"
	"sandbox/internal/testuser"
)

func TestMain(m *testing.M) { os.Exit(testbin.Main(m)) }

// goCache fills a build cache in the test's home, so that the agent's build
// need not compile the runtime.
func (j *journey) goCache(home string) {
	cache := filepath.Join(home, "cache")
	if warm := filepath.Join(filepath.Dir(testbin.Path()), "gocache"); j.exists(warm) {
		j.host("/", "cp", "-r", warm, cache)
		return
	}
	// root comes first and shares with the ordinary user
	j.host(j.twin, "sh", "-c", "GOCACHE=$HOME/cache CGO_ENABLED=0 go build -o /dev/null internal/abi runtime")
	j.host("/", "sh", "-c", "cp -r $HOME/cache "+filepath.Dir(testbin.Path())+"/gocache && chmod -R a+rX "+filepath.Dir(testbin.Path())+"/gocache || true")
}

func (j *journey) exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// work is what the agent does, in the project's directory.
const work = `
set -e
find . -name '*.go' -path './http/*' | sort | head -n 180 | xargs sed -i '1s/^/\/\/ touched by the agent\n/'
sed -i 's/Copyright/(c)/' url/url.go
rm -r textproto
rm mail/message.go
mv netip addr
mkdir -p gen/deep
for i in $(seq 1 60); do printf 'package gen // %s\r\n' $i > gen/deep/f$i.go; done
: > gen/empty
printf 'no newline' > gen/noeol
printf 'caf\351\n' > gen/latin1
ln -s ../url/url.go gen/link
chmod 755 url/url.go
mkdir tool && printf 'package main\n\nfunc main() { println("built inside") }\n' > tool/main.go
printf 'module example.test/tool\n\ngo 1.20\n' > tool/go.mod
cd tool && GOFLAGS=-buildvcs=false GOTOOLCHAIN=local GOCACHE=$HOME/cache CGO_ENABLED=0 go build -trimpath -o ../tool.bin . && cd ..
./tool.bin 2>&1 | grep -q 'built inside'
`

type journey struct {
	t       *testing.T
	project string // on the host
	twin    string // a copy in which the agent worked without a sandbox
}

func start(t *testing.T) *journey {
	t.Helper()
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	if err != nil {
		t.Fatal(err)
	}
	j := &journey{t: t, project: filepath.Join(home, "project"), twin: filepath.Join(home, "twin", "project")}
	for _, dir := range []string{j.project, j.twin} {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // a test's directory
			t.Fatal(err)
		}
		j.host("/", "cp", "-r", filepath.Join(runtime.GOROOT(), "src", "net"), dir) //nolint:staticcheck // a test runs where it was built
		j.host("/", "chmod", "-R", "u+w", dir)
	}
	j.goCache(home)
	j.host(j.twin, "sh", "-c", work)
	t.Cleanup(func() {
		j.host(j.project, testbin.Path(), "delete", "-y")
	})
	return j
}

// host runs a program outside of the sandbox and returns its output.
func (j *journey) host(dir string, argv ...string) string {
	j.t.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		j.t.Fatalf("%q: %v\n%.3000s", argv, err, out)
	}
	return string(out)
}

// sandbox runs the binary in the project.
func (j *journey) sandbox(args ...string) string {
	j.t.Helper()
	return j.host(j.project, append([]string{testbin.Path()}, args...)...)
}

// tree describes every entry below dir: type, mode and content.
func (j *journey) tree(dir string) map[string]string {
	j.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		desc := fi.Mode().String()
		switch {
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			desc += fmt.Sprintf(" %x", sha256.Sum256(data))
		case fi.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			desc += " -> " + target
		}
		rel, _ := filepath.Rel(dir, p)
		out[rel] = desc
		return nil
	})
	if err != nil {
		j.t.Fatal(err)
	}
	return out
}

// expected compares the project with its twin, by nothing but the file system.
func (j *journey) expected() []string {
	before, after := j.tree(j.project), j.tree(j.twin)
	var out []string
	for p, d := range after {
		if old, ok := before[p]; !ok {
			out = append(out, "+ "+p)
		} else if old != d {
			out = append(out, "~ "+p)
		}
	}
	for p := range before {
		if _, ok := after[p]; !ok {
			out = append(out, "- "+p)
		}
	}
	sort.Strings(out)
	return out
}

// listed is what status says, with renames taken apart.
func (j *journey) listed() []string {
	j.t.Helper()
	var doc struct {
		OK      bool
		Changes []struct{ Path, Kind, From string }
	}
	if err := json.Unmarshal([]byte(j.sandbox("--json", "status")), &doc); err != nil || !doc.OK {
		j.t.Fatalf("status: %v, ok=%v", err, doc.OK)
	}
	rel := func(p string) string { r, _ := filepath.Rel(j.project, p); return r }
	var out []string
	for _, c := range doc.Changes {
		switch c.Kind {
		case "renamed":
			out = append(out, "+ "+rel(c.Path), "- "+rel(c.From))
			// one row stands for a directory that was moved whole
			for p := range j.tree(c.From) {
				out = append(out, "+ "+filepath.Join(rel(c.Path), p), "- "+filepath.Join(rel(c.From), p))
			}
		case "added":
			out = append(out, "+ "+rel(c.Path))
		case "deleted":
			out = append(out, "- "+rel(c.Path))
		default:
			out = append(out, "~ "+rel(c.Path))
		}
	}
	sort.Strings(out)
	return out
}

func (j *journey) same(what string, got, want map[string]string) {
	j.t.Helper()
	n := 0
	for p, d := range want {
		if got[p] != d {
			if n++; n < 10 {
				j.t.Errorf("%s: %s is %q, want %q", what, p, got[p], d)
			}
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			j.t.Errorf("%s: %s should not be there", what, p)
		}
	}
}

// without returns what is in a and not in b.
func without(a, b []string) []string {
	in := map[string]bool{}
	for _, s := range b {
		in[s] = true
	}
	var out []string
	for _, s := range a {
		if !in[s] {
			out = append(out, s)
		}
	}
	return out
}

// work lets the agent work in the sandbox and checks the list and the host.
func (j *journey) work() {
	j.t.Helper()
	before := j.tree(j.project)
	j.sandbox("sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $! > ../pid")
	j.sandbox("sh", "-c", work)
	j.same("the host after the work", j.tree(j.project), before)
	want := j.expected()
	if len(want) < 200 {
		j.t.Fatalf("the work changes only %d entries", len(want))
	}
	got := j.listed()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		j.t.Errorf("status lists too much: %q\ntoo little: %q", without(got, want), without(want, got))
	}
}

func (j *journey) stillRunning() {
	j.t.Helper()
	j.sandbox("sh", "-c", "kill -0 $(cat ../pid)")
}

func TestAcceptAll(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		j := start(t)
		before := j.tree(j.project)
		j.work()
		j.sandbox("accept")
		j.same("the host after accept", j.tree(j.project), j.tree(j.twin))
		j.stillRunning()
		if left := j.listed(); len(left) > 0 {
			t.Errorf("after accept status lists %q", left)
		}
		// the sandbox's own view has not moved either
		inside := j.sandbox("sh", "-c", "find . -type f | sort | xargs sha256sum; find . -type l -printf '%p %l\\n'; find . -printf '%p %m\\n' | sort")
		outside := j.host(j.project, "sh", "-c", "find . -type f | sort | xargs sha256sum; find . -type l -printf '%p %l\\n'; find . -printf '%p %m\\n' | sort")
		if inside != outside {
			t.Error("the sandbox and the host differ after accept")
		}
		j.sandbox("undo")
		j.same("the host after undo", j.tree(j.project), before)
	})
}

func TestRejectAll(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		j := start(t)
		before := j.tree(j.project)
		j.work()
		j.sandbox("reject")
		j.same("the host after reject", j.tree(j.project), before)
		j.stillRunning()
		if left := j.listed(); len(left) > 0 {
			t.Errorf("after reject status lists %q", left)
		}
		const list = "find . -type f | sort | xargs sha256sum; find . -printf '%p %m\\n' | sort"
		if j.sandbox("sh", "-c", list) != j.host(j.project, "sh", "-c", list) {
			t.Error("the sandbox and the host differ after reject")
		}
	})
}
