package gitdir

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git's checksum
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mapView is a git directory in memory.
var fixed = time.Unix(1600000000, 0)

type mapView map[string]string

func (m mapView) Read(rel string, limit int64) ([]byte, bool) {
	data, ok := m[rel]
	return []byte(data), ok && int64(len(data)) <= limit
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestSplitAndParts(t *testing.T) {
	id := strings.Repeat("a", 38)
	for _, c := range []struct {
		path, sub, inner string
		part             Part
	}{
		{"HEAD", "", "HEAD", Head},
		{"index", "", "index", Index},
		{"index.lock", "", "index.lock", Lock},
		{"refs/heads/a/b", "", "refs/heads/a/b", Ref},
		{"refs/heads/config", "", "refs/heads/config", Ref},
		{"packed-refs", "", "packed-refs", PackedRefs},
		{"objects/ab/" + id, "", "objects/ab/" + id, Object},
		{"objects/ab/tmp_obj_x", "", "objects/ab/tmp_obj_x", PackIndex},
		{"objects/pack/pack-1.pack", "", "objects/pack/pack-1.pack", Pack},
		{"objects/pack/pack-1.idx", "", "objects/pack/pack-1.idx", PackIndex},
		{"objects/info/alternates", "", "objects/info/alternates", Redirect},
		{"commondir", "", "commondir", Redirect},
		{"modules/a/b/HEAD", "modules/a/b", "HEAD", Head},
		{"modules/a/commondir", "modules/a", "commondir", Redirect},
		{"modules/a/modules/c/config", "modules/a/modules/c", "config", Config},
		{"worktrees/w/commondir", "worktrees/w", "commondir", Other},
		{"worktrees/w/HEAD", "worktrees/w", "HEAD", Head},
		{"worktrees/w", "", "worktrees/w", Other},
		{"modules", "", "modules", Other},
		{"logs/refs/heads/x", "", "logs/refs/heads/x", Other},
		{"reftable/x.ref", "", "reftable/x.ref", Reftable},
	} {
		sub, inner := Split(c.path)
		if sub != c.sub || inner != c.inner || PartOf(c.path) != c.part {
			t.Errorf("%s: %q %q part %d, want %q %q part %d", c.path, sub, inner, PartOf(c.path), c.sub, c.inner, c.part)
		}
	}
}

func TestRankPutsObjectsFirstAndTheIndexLast(t *testing.T) {
	order := []struct {
		path    string
		removed bool
	}{
		{"objects/pack/p.pack", false},
		{"objects/pack/p.idx", false},
		{"logs/HEAD", false},
		{"packed-refs", false},
		{"refs/heads/x", false},
		{"refs/heads/y", true},
		{"HEAD", false},
		{"index", false},
		{"objects/pack/old.pack", true},
	}
	for i := 1; i < len(order); i++ {
		a, b := order[i-1], order[i]
		if Rank(a.path, false, a.removed) >= Rank(b.path, false, b.removed) {
			t.Errorf("%s does not come before %s", a.path, b.path)
		}
	}
}

func TestHarm(t *testing.T) {
	plain := "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
	for _, c := range []struct{ add, want string }{
		{"", ""},
		{"[user]\n\tname = A # who\n", ""},
		{"[remote \"origin\"]\n\turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", ""},
		{"[branch \"a.b\"]\n\tremote = origin\n\tmerge = refs/heads/a.b\n", ""},
		{"[advice]\n\tdetachedHead = false\n", ""},
		{"[core]\n\tfsmonitor = /tmp/x\n", "core.fsmonitor"},
		{"[CORE]\n\tFSMonitor\n", "core.fsmonitor"},
		{"[core] sshCommand = x\n", "core.sshcommand"},
		{"[core]\n\tho\\\noksPath = x\n", "what cannot be read"},
		{"[core]\n\thooksPath = x\n", "core.hookspath"},
		{"[alias]\n\tst = !evil\n", "alias.st"},
		{"[filter \"x\"]\n\tclean = evil\n", "filter.x.clean"},
		{"[diff \"x\"]\n\ttextconv = evil\n", "diff.x.textconv"},
		{"[include]\n\tpath = ../evil\n", "include.path"},
		{"[includeIf \"gitdir:/\"]\n\tpath = ../evil\n", "includeif.gitdir:/.path"},
		{"[credential]\n\thelper = evil\n", "credential.helper"},
		{"[url \"ext::sh\"]\n\tinsteadOf = https\n", "url.ext::sh.insteadof"},
		{"[gpg]\n\tprogram = evil\n", "gpg.program"},
		{"[remote \"o\"]\n\turl = ext::sh -c evil\n", "remote.o.url"},
		{"[remote \"o\"]\n\tuploadpack = evil\n", "remote.o.uploadpack"},
		{"[submodule \"s\"]\n\tupdate = !evil\n", "submodule.s.update"},
		{"[submodule \"s\"]\n\tupdate = checkout\n", ""},
		{"[core]\n\tworktree = /etc\n", "core.worktree"},
		{"[core]\n\tworktree = ../../../sub\n", ""},
		{"[core]\n\tworktree = ../../../../other\n", "core.worktree"},
		{"[remote \"o\"]\n\tpushurl = https://example.org/x\n", "remote.o.pushurl"},
		{"[protocol \"ext\"]\n\tallow = always\n", "protocol.ext.allow"},
		{"[co\x00re]\n", "what cannot be read"},
		{"[core\n", "what cannot be read"},
		{"[core]\n\ta = \"open\n", "what cannot be read"},
		{"[user]\n\tname = a\\\n[core]\n\tfsmonitor = x\n", "user.fsmonitor"},
		{"[user]\r\n\tname = a\r\n[core]\r\n\tpager = x\r\n", "core.pager"},
		{"; [core]\n# fsmonitor = x\n", ""},
	} {
		if got := Harm([]byte(plain), []byte(plain+c.add), "/p/.git/modules/s", "/p"); got != c.want {
			t.Errorf("%q: %q, want %q", c.add, got, c.want)
		}
	}
	if got := Harm([]byte(plain), []byte(plain+"[core]\n\tworktree = sub\n"), "/p/.git", ""); got != "core.worktree" {
		t.Errorf("a work tree of a repository that is no submodule: %q", got)
	}
	origin := "[remote \"o\"]\n\turl = https://example.org/x\n"
	if got := Harm([]byte(origin), []byte(strings.Replace(origin, ".org", ".net", 1)), "", ""); got != "remote.o.url" {
		t.Errorf("a remote that leads elsewhere: %q", got)
	}
	lfs := plain + "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n"
	if got := Harm([]byte(lfs), []byte(lfs+"[user]\n\tname = x\n"), "", ""); got != "" {
		t.Errorf("what the host has already is no harm: %q", got)
	}
	if got := Harm([]byte(lfs), []byte(strings.Replace(lfs, "git-lfs", "evil", 1)), "", ""); got != "filter.lfs.clean" {
		t.Errorf("another value is: %q", got)
	}
}

// What git reads in a configuration we read too, so that nothing hides.
func TestParseConfigAgreesWithGit(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{
		"[a]\nb = c\n", "[a \"x y\\\"z\"]\nb=c ; d\n", "[a]b=1\n[c]d\n", "[A \"B\"]\n\tKey = \" x \" y\n",
		"[a]\nb = x\\\n  y\n", "[a.b]\nc = d\n", "[a]\nb = \\\"q\\\" \\\\ \\t|\n", "[a]\n b = c#d\n",
	} {
		file := filepath.Join(dir, "config")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.SplitSeq(strings.TrimSuffix(git(t, dir, "config", "-f", file, "-z", "--list"), "\x00"), "\x00") {
			name, value, has := strings.Cut(line, "\n")
			if !has {
				value = "true"
			}
			want = append(want, name+"="+value)
		}
		settings, err := ParseConfig([]byte(text))
		var got []string
		for _, s := range settings {
			got = append(got, s.Name+"="+s.Value)
		}
		if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q: %q %v, want %q", text, got, err, want)
		}
	}
}

func TestSameIndexOfEveryVersion(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		t.Run("version "+version, func(t *testing.T) {
			dir := t.TempDir()
			git(t, dir, "init", "-q", "-b", "main")
			for _, name := range []string{"a", "dir/b", "dir/b2", "dir/long name", "z"} {
				path := filepath.Join(dir, name)
				_ = os.MkdirAll(filepath.Dir(path), 0o755)
				if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			git(t, dir, "add", ".")
			if version == "3" {
				_ = os.WriteFile(filepath.Join(dir, "later"), nil, 0o600)
				git(t, dir, "add", "-N", "later")
			} else {
				git(t, dir, "update-index", "--index-version", version)
			}
			read := func() []byte {
				data, err := os.ReadFile(filepath.Join(dir, ".git/index"))
				if err != nil {
					t.Fatal(err)
				}
				if got := binary.BigEndian.Uint32(data[4:]); fmt.Sprint(got) != version {
					t.Fatalf("version %d", got)
				}
				return data
			}
			before := read()
			if err := os.Chtimes(filepath.Join(dir, "a"), fixed, fixed); err != nil {
				t.Fatal(err)
			}
			git(t, dir, "status")
			after := read()
			if bytes.Equal(before, after) || !SameIndex(before, after) {
				t.Fatal("an index that was refreshed stages the same")
			}
			_ = os.WriteFile(filepath.Join(dir, "a"), []byte("new"), 0o600)
			git(t, dir, "add", "a")
			staged := read()
			if SameIndex(before, staged) {
				t.Fatal("another content is staged")
			}
			git(t, dir, "update-index", "--chmod=+x", "z")
			if SameIndex(staged, read()) {
				t.Fatal("another mode is staged")
			}
			torn := bytes.Clone(after)
			torn[len(torn)/2] ^= 1
			if SameIndex(before, torn) {
				t.Fatal("a damaged index is no index")
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	a, b := strings.Repeat("a", 40), strings.Repeat("b", 40)
	host := mapView{"HEAD": "ref: refs/heads/main\n", "packed-refs": "# pack-refs\n" + a + " refs/heads/main\n" + a + " refs/heads/gone\n"}
	sandbox := mapView{
		"HEAD": "ref: refs/heads/x\n", "packed-refs": a + " refs/heads/main\n" + b + " refs/../../evil\n", "refs/heads/x": b + "\n",
		"refs/heads/e\x1bvil": b + "\n", "objects/bb/" + b[2:]: commit(a, 1<<26),
	}
	var files []File
	for path := range sandbox {
		_, was := host[path]
		files = append(files, File{Path: path, Before: was, After: true})
	}
	r := Describe(host, sandbox, files, false, false)
	want := "git: 1 new object, branch gone deleted, branch x created (1 new commit), HEAD switched to x"
	if r.Summary != want {
		t.Errorf("%q, want %q", r.Summary, want)
	}
	if r.Objects != 1 || len(r.Branches) != 2 || r.Head != "x" || !r.Loses() {
		t.Errorf("%+v", r)
	}
}

// commit is a loose object whose message inflates to size bytes.
func commit(parent string, size int) string {
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	fmt.Fprintf(z, "commit %d\x00tree %s\nparent %s\n\n", size, parent, parent)
	_, _ = z.Write(make([]byte, size))
	_ = z.Close()
	return out.String()
}

func TestPointers(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"gitdir: /p/.git/worktrees/w\n", "/p/.git/worktrees/w"},
		{"gitdir: ../p/.git/modules/s\n", "/home/p/.git/modules/s"},
		{"gitdir: ../../../etc", "/etc"},
		{"gitdir: \n", ""},
		{"nothing", ""},
		{"gitdir: a\nb\n", ""},
	} {
		if got, _ := Pointer("/home/w/.git", []byte(c.text)); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	view := mapView{"worktrees/w/gitdir": "/home/w/.git\n", "modules/s/config": "[core]\n\tworktree = ../../../s\n"}
	for _, c := range []struct {
		sub, file string
		want      bool
	}{
		{"worktrees/w", "/home/w/.git", true},
		{"worktrees/w", "/home/other/.git", false},
		{"worktrees/w/refs", "/home/w/.git", false},
		{"modules/s", "/home/p/s/.git", true},
		{"modules/s", "/home/p/t/.git", false},
		{"refs/heads", "/home/w/.git", false},
	} {
		if got := PointsBack(view, "/home/p/.git", c.sub, c.file); got != c.want {
			t.Errorf("%s %s: %v", c.sub, c.file, got)
		}
	}
}

func FuzzHostile(f *testing.F) {
	body := append([]byte("DIRC\x00\x00\x00\x04\xff\xff\xff\xff"), make([]byte, 64)...)
	sum := sha1.Sum(body) //nolint:gosec // git's checksum
	f.Add(append(body, sum[:]...), "modules/../HEAD")
	f.Add([]byte("[a \"\\\n"), "worktrees//x")
	f.Add([]byte("ref: refs/heads/../../x"), "objects/")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		_, _ = parseIndex(append(bytes.Clone(data), make([]byte, 20)...))
		_ = SameIndex(data, data[:len(data)/2])
		_, _ = ParseConfig(data)
		packedRefs(data)
		if ref, _ := ReadHead(data); ref != "" && (strings.Contains(ref, "..") || strings.ContainsAny(ref, "\n\x00")) {
			t.Fatalf("%q", ref)
		}
		_, _ = Pointer("/a/.git", data)
		sub, inner := Split(path)
		if Join(sub, inner) != path && path != "" && sub != "" {
			t.Fatalf("%q is %q and %q", path, sub, inner)
		}
		PartOf(path)
		view := mapView{path: string(data), "packed-refs": string(data), "HEAD": string(data)}
		r := Describe(mapView{}, view, []File{{Path: path, After: true}, {Path: "packed-refs", After: true}, {Path: "HEAD", After: true}}, false, false)
		if strings.ContainsAny(r.Summary, "\n\x1b") {
			t.Fatalf("%q", r.Summary)
		}
	})
}
