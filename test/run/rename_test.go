package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sandbox/internal/testuser"
)

// tree makes a small directory on the host.
func (b *box) tree(dir string) {
	b.t.Helper()
	for name, text := range map[string]string{"a": "A\n", "sub/b": "B\n", "sub/deep/c": "C\n"} {
		path := filepath.Join(b.home, dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.t.Fatal(err)
		}
		b.file(filepath.Join(dir, name), text)
	}
}

// Each of these fails with EXDEV in an overlay of an ordinary user; in mode P
// the kernel does it by itself.
func TestProgramsRenameDirectoriesOfTheHost(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		programs := map[string]string{
			"mv":           `mv old new`,
			"mv-absolute":  `mv "$PWD/old" "$PWD/new"`,
			"mv-slash":     `mv old/ new/`,
			"mv-into":      `mkdir sub && mv old sub/new && mv sub/new new`,
			"mv-over":      `mkdir new && mv -T old new`,
			"python":       `python3 -c 'import os; os.rename("old", "new")'`,
			"python-dirfd": `python3 -c 'import os; d = os.open(".", os.O_RDONLY); os.rename("old", "new", src_dir_fd=d, dst_dir_fd=d)'`,
			"perl":         `perl -e 'rename("old", "new") or die "$!"'`,
			"link-part":    `ln -s . here && mv here/old here/new && rm here`,
			"twice":        `mv old mid && mv mid new`,
			"part":         `mv old/sub sub2 && mv sub2 old/sub && mv old new`,
		}
		for name, script := range programs {
			t.Run(name, func(t *testing.T) {
				dir := filepath.Join(b.home, name)
				b.tree(name + "/old")
				b.sh("cd " + dir + "; set -e; " + script)
				got := b.sh("cd " + dir + "; find . -type f | sort | xargs grep . ; ls -d old 2>/dev/null || true")
				if want := "./new/a:A\n./new/sub/b:B\n./new/sub/deep/c:C"; got != want {
					t.Errorf("inside:\n%s", got)
				}
				if b.content(filepath.Join(dir, "old/sub/deep/c")) != "C\n" {
					t.Error("the host's tree was changed")
				}
			})
		}
	})
}

func TestGitMovesADirectory(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.tree("p/old")
		b.sh("cd p && git init -q . && git add . && git -c user.name=x -c user.email=x commit -qm one && git mv old new")
		if got := b.sh("cd p && git status --porcelain"); strings.Count(got, "R  old/") != 3 || strings.Count(got, "\n") != 2 {
			t.Errorf("status:\n%s", got)
		}
	})
}

// What a rename keeps, the emulation keeps: modes, times, links, attributes.
func TestARenamedDirectoryIsTheSame(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.tree("old")
		for _, script := range []string{
			"ln old/a old/hard; ln old/a old/sub/hard; ln -s nowhere old/dangling; mkfifo -m 600 old/fifo",
			"setfattr -n user.x -v 1 old/a old/sub; chmod 640 old/a; chmod 4755 old/sub/b",
			"mkdir -m 1777 old/sticky; mkdir -m 2755 old/setgid; mkdir -m 700 old/empty",
			"touch -d 2001-01-01 old/a old/sub/deep/c old/sub/deep; touch -d 2002-02-02 old/sub; chmod 555 old/sub",
		} {
			hostShell(t, b.home, script)
		}
		defer hostShell(t, b.home, "chmod 755 old/sub")
		list := `find . -printf '%P %y %m %n %U %G %s %T@ %l\n' | grep -v '^ ' | awk '{ if ($2 == "d") { $4 = ""; $7 = "" } print }' | sort; getfattr -h -Rd -m "^user" --absolute-names . | sed "s/^# file: //" | grep . | paste - - | sort`
		want := hostShell(t, filepath.Join(b.home, "old"), list)
		b.sh("mv old new 2>&1; test ! -e old; python3 -c 'import os; os.rename(\"new\", \"newer\")'")
		if got := b.sh("cd newer; " + list); got != want {
			t.Errorf("on the host:\n%s\ninside:\n%s", want, got)
		}
		if os.Getuid() != 0 { // in mode P the kernel splits hard links of the host at a copy-up
			b.sh("cd newer; echo more >> a; cmp a hard && cmp a sub/hard")
		}
	})
}

// The kernel's refusals stay what they are.
func TestRefusedRenamesSayWhatTheKernelSays(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.tree("old")
		b.tree("full")
		b.tree("closed/dir")
		b.file("file", "x")
		hostShell(t, b.home, "chmod 555 closed")
		defer hostShell(t, b.home, "chmod 755 closed")
		for _, tt := range []struct{ from, to, want string }{
			{"old", "old/sub/in", "EINVAL"},
			{"old", "full", "ENOTEMPTY"},
			{"old", "file", "ENOTDIR"},
			{"old", "none/x", "ENOENT"},
			{"old", "file/x", "ENOTDIR"},
			{"none", "x", "ENOENT"},
			{"old/.", "x", "EBUSY"},
			{"old", ".", "EBUSY"},
			{"old", "/dev/shm/x", "EXDEV"},
			{"/proc", "x", "EXDEV EBUSY EACCES"},
		} {
			got := b.sh(fmt.Sprintf(`python3 -c 'import os, errno
try: os.rename("%s", "%s"); print("ok")
except OSError as e: print(errno.errorcode[e.errno])'`, tt.from, tt.to))
			if !strings.Contains(tt.want, got) {
				t.Errorf("%s -> %s: %s, want %s", tt.from, tt.to, got, tt.want)
			}
		}
		if os.Getuid() != 0 {
			got := b.sh(`python3 -c 'import os; os.rename("closed/dir", "x")' 2>&1 | tail -1`)
			if !strings.HasPrefix(got, "PermissionError: [Errno 13]") {
				t.Errorf("out of a closed directory: %s", got)
			}
		}
		b.sh("cat old/a full/a closed/dir/a old/sub/deep/c")
	})
}

func hostShell(t *testing.T, dir, script string) string {
	t.Helper()
	c := hostCommand(dir, script)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func hostCommand(dir, script string) *exec.Cmd {
	c := exec.Command("sh", "-c", script)
	c.Dir = dir
	return c
}
