package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/launch"
	"sandbox/internal/testuser"
)

// withMounts runs a shell script in a mount namespace of root, in the home of an
// ordinary user, as whom its functions work: box SCRIPT runs a shell script in
// the sandbox, stop stops it.
func withMounts(t *testing.T, script string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounts on the host; the tests run as root in CI")
	}
	u := testuser.Ensure(t)
	top, err := os.MkdirTemp("", "sbxtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	as := "setpriv --reuid " + u.Uid + " --regid " + u.Gid + " --clear-groups bash -c"
	c := exec.Command("unshare", "-m", "bash", "-c", `set -e
		mount --make-rprivate /; chmod 755 .; cp "$1" t; chmod 755 t; mkdir home
		chown -R `+u.Uid+":"+u.Gid+` home; cd home
		user() { `+as+` "$1"; }
		box() { `+as+` 'exec -a client ../t "$PWD/.sandboxes" box sh -c "$1"' bash "$1"; }
		stop() { `+as+` 'exec -a stop ../t "$PWD/.sandboxes" box'; }
		`+script, "bash", self)
	c.Dir = top
	c.Env = append(os.Environ(), "HOME="+filepath.Join(top, "home"))
	out, err := c.Output()
	if err != nil {
		var errs string
		if ee, ok := err.(*exec.ExitError); ok { //nolint:errorlint // as exec gives it
			errs = string(ee.Stderr)
		}
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	return string(out)
}

// What a sandbox did to a directory is there also after something was mounted
// below that directory on the host, and when it is unmounted again.
func TestMountBelowAChangedDirectory(t *testing.T) {
	out := withMounts(t, `
		user 'for d in gone file repl kept mnt; do mkdir -p p/$d; echo host > p/$d/a; done'
		look='cd p; ls -F; cat file top nd/y kept/a; ls repl; if cat gone/a; then exit 1; fi'
		trap stop EXIT
		box 'cd p; rm -r gone file repl; echo f > file; mkdir repl nd; echo n > repl/n; echo new > top; echo y > nd/y; chmod 555 nd; echo z > kept/a'
		for round in 1 2; do
			stop; mount -t tmpfs -o mode=1777 t p/mnt
			echo MOUNTED; box "$look"
			stop; umount p/mnt
			echo UNMOUNTED; box "$look"
		done`)
	seen := "file\nkept/\nmnt/\nnd/\nrepl/\ntop\nf\nnew\ny\nz\nn\n"
	if want := strings.Repeat("MOUNTED\n"+seen+"UNMOUNTED\n"+seen, 2); out != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

// A program under nohup, and a shell's background job, go on when the terminal
// hangs up or Ctrl-C is typed.
func TestIgnoredSignalsAreNotPassedOn(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		for name, sig := range map[string]unix.Signal{"HUP": unix.SIGHUP, "INT": unix.SIGINT} {
			c := b.command("sh", "-c", "echo ready; read x; echo survived")
			c.Args = append([]string{"bash", "-c", "trap '' " + name + "; exec -a client " + c.Path + ` "$@"`, "bash"}, c.Args[1:]...)
			c.Path = "/bin/bash"
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 64)
			if _, err := out.Read(buf); err != nil {
				t.Fatal(err)
			}
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			b.sh("sleep 0.2") // the signal has been passed on by now, if at all
			_ = in.Close()
			n, _ := out.Read(buf)
			if err := c.Wait(); err != nil || string(buf[:n]) != "survived\n" {
				t.Errorf("SIG%s: %q, %v", name, buf[:n], err)
			}
		}
		if err := launch.Stop(b.dir()); err != nil {
			t.Fatal(err)
		}
	})
}
