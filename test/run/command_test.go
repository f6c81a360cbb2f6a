package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sandbox/engine/launch"
	"sandbox/engine/store"
	"sandbox/internal/testuser"
)

func TestExitCodes(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.file("plain", "no program")
		b.file("script", "echo without a hash bang; exit 3")
		if err := os.Chmod(filepath.Join(b.home, "script"), 0o755); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
		for _, c := range []struct {
			argv []string
			code int
		}{
			{[]string{"true"}, 0},
			{[]string{"sh", "-c", "exit 7"}, 7},
			{[]string{"nosuch"}, 127},
			{[]string{"./nosuch"}, 127},
			{[]string{"./plain"}, 126},
			{[]string{"./script"}, 3},
			{[]string{"sh", "-c", "kill -9 $$"}, 137},
			{[]string{"sh", "-c", "kill -SEGV $$"}, 139},
			{[]string{"sh", "-c", "kill -BUS $$"}, 135},
		} {
			if _, _, code := b.run(c.argv...); code != c.code {
				t.Errorf("%q: exit %d, want %d", c.argv, code, c.code)
			}
		}
		if _, errs, _ := b.run("nosuch"); !strings.Contains(errs, "nosuch: command not found") || strings.Count(errs, "\n") != 1 {
			t.Errorf("a missing command says %q", errs)
		}
	})
}

func TestStreamsAreByteExact(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		data := bytes.Repeat([]byte("a\x00\r\n\xff\x1b]52;c;x\x07"), 60000)
		in := b.file("in", string(data))
		out := filepath.Join(b.home, "out")
		open := func(name string, flag int) *os.File {
			f, err := os.OpenFile(name, flag, 0o644) //nolint:gosec // a test's file
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() })
			return f
		}
		c := b.command("cat")
		c.Stdin, c.Stdout = open(in, os.O_RDONLY), open(out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
		if code := exitOf(t, c.Run()); code != 0 || b.content(out) != string(data) {
			t.Errorf("file to file: exit %d, equal %v", code, b.content(out) == string(data))
		}
		c = b.command("cat")
		var buf bytes.Buffer
		c.Stdin, c.Stdout = bytes.NewReader(data), &buf
		if code := exitOf(t, c.Run()); code != 0 || !bytes.Equal(buf.Bytes(), data) {
			t.Errorf("pipe to pipe: exit %d, equal %v", code, bytes.Equal(buf.Bytes(), data))
		}
		appended := b.file("log", "old\n")
		c = b.command("sh", "-c", "echo new")
		c.Stdout = open(appended, os.O_WRONLY|os.O_APPEND)
		if code := exitOf(t, c.Run()); code != 0 || b.content(appended) != "old\nnew\n" {
			t.Errorf("append: exit %d, %q", code, b.content(appended))
		}
	})
}

// What a command does not read of a file stays for the caller's next program.
func TestUnreadInputIsGivenBack(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		f, err := os.Open(b.file("in", "one\ntwo\nthree\n"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		c := b.command("sh", "-c", "read line; echo $line")
		c.Stdin = f
		out, err := c.Output()
		if err != nil || string(out) != "one\n" {
			t.Fatalf("%q, %v", out, err)
		}
		if off, _ := f.Seek(0, 1); off != 4 {
			t.Errorf("the file is at %d, want 4", off)
		}
	})
}

func TestSameMachineSameUserSamePlace(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		if got := b.sh("pwd"); got != b.home {
			t.Errorf("working directory %s, want %s", got, b.home)
		}
		b.file("f", "x")
		script := "id -u; id -g; uname -n; stat -c '%a %U' " + b.home + "/f; umask"
		host := b.command()
		host.Args, host.Path = []string{"sh", "-c", script}, "/bin/sh"
		want, err := host.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := b.sh(script); got != strings.TrimSpace(string(want)) {
			t.Errorf("inside:\n%s\noutside:\n%s", got, want)
		}
	})
}

func TestWritesStayInTheStorage(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		f := b.file("f", "host\n")
		b.sh("echo box > f; mkdir d; echo n > d/n; rm -f .nothing; ln -s f l")
		if b.content(f) != "host\n" {
			t.Errorf("the host's file holds %q", b.content(f))
		}
		if _, err := os.Lstat(filepath.Join(b.home, "d")); err == nil {
			t.Error("the new directory is on the host")
		}
		if err := launch.Stop(b.dir()); err != nil {
			t.Fatal(err)
		}
		if got := b.sh("cat f d/n l"); got != "box\nn\nbox" {
			t.Errorf("after a stop the sandbox sees %q", got)
		}
	})
}

// Host edits show to the next command, also where the old name was cached.
func TestHostEditsShow(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		f := b.file("f", "one\n")
		b.sh("cat f; ls missing || true")
		b.file("tmp-f", "two\n")
		if err := os.Rename(filepath.Join(b.home, "tmp-f"), f); err != nil {
			t.Fatal(err)
		}
		b.file("missing", "here\n")
		link := launch.Running(b.dir())
		if link == nil {
			t.Fatal("the sandbox is down")
		}
		defer link.Close()
		if err := syncView(link, b.home); err != nil {
			t.Fatal(err)
		}
		if got := b.sh("cat f missing"); got != "two\nhere" {
			t.Errorf("the sandbox sees %q", got)
		}
	})
}

func TestSecondCommandJoins(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.sh("sleep 60 >/dev/null 2>&1 & echo $! > pid")
		if got := b.sh("kill -0 $(cat pid) && echo there"); got != "there" {
			t.Error("the second command does not see the first one's process")
		}
	})
}

// Many clients at once: one wins the lock and starts, all get their command run.
func TestStartsRace(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		var wg sync.WaitGroup
		ns := make([]string, 12)
		for i := range ns {
			wg.Add(1)
			go func() {
				defer wg.Done()
				out, err := b.command("readlink", "/proc/self/ns/pid").CombinedOutput()
				if err != nil {
					t.Errorf("client %d: %v: %s", i, err, out)
				}
				ns[i] = string(out)
			}()
		}
		wg.Wait()
		for i := range ns {
			if ns[i] != ns[0] {
				t.Errorf("client %d is in %s, not in %s", i, ns[i], ns[0])
			}
		}
	})
}

func TestNothingIsLeftAfterStop(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		before := b.content("/proc/self/mountinfo")
		b.sh("setsid sleep 60 >/dev/null 2>&1 & echo x > f")
		pidfd := launch.InitPidfd(b.dir())
		if pidfd < 0 {
			t.Fatal("init is not there")
		}
		if err := launch.Stop(b.dir()); err != nil {
			t.Fatal(err)
		}
		if store.Held(b.dir().Path(store.LockFile)) {
			t.Error("init is still there")
		}
		if after := b.content("/proc/self/mountinfo"); after != before {
			t.Errorf("the host's mounts changed:\n%s\n%s", before, after)
		}
		b.keeperGone()
		left, _ := filepath.Glob(b.dir().Path("work.*"))
		if len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if _, err := os.Stat(b.dir().Path("dirty")); err == nil {
			t.Error("the sandbox is still marked as not synced")
		}
	})
}

func TestWorkingDirectoryThatIsGone(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.sh("mkdir gone")
		if err := os.Mkdir(filepath.Join(b.home, "gone"), 0o755); err != nil { //nolint:gosec // a test's directory
			t.Fatal(err)
		}
		b.sh("rmdir gone")
		c := b.command("pwd")
		c.Dir = filepath.Join(b.home, "gone")
		out, err := c.CombinedOutput()
		if exitOf(t, err) != 125 || !strings.Contains(string(out), "it is not there inside the sandbox") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// Colons, commas and backslashes have a meaning in mount options.
func TestStorageNameWithAnyBytes(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.storage = filepath.Join(b.home, "we:ird, \\na\nme\xff "+strings.Repeat("x", 150))
		b.file("f", "x")
		if got := b.sh("echo y > f; cat f; ls -A"); got != "y\nf\ntmp" {
			t.Errorf("got %q", got)
		}
		if b.content(filepath.Join(b.home, "f")) != "x" {
			t.Error("the host was changed")
		}
	})
}

// The keeper is started beside the command, which may be the shortest there is.
func TestShortCommandHasAKeeper(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		for range 8 {
			b.sh("true")
			b.wait("the keeper to start", func() bool { return store.Held(b.dir().Path(launch.KeeperLock)) })
			if err := launch.Stop(b.dir()); err != nil {
				t.Fatal(err)
			}
			b.keeperGone()
		}
	})
}
