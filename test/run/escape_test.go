package run

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/internal/testuser"
)

// ownBinary makes the box's clients run a copy of this program that the caller
// owns, as one below a plugin's directory is.
func (b *box) ownBinary() string {
	b.t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		b.t.Fatal(err)
	}
	b.binary = b.file("program", string(self))
	if err := os.Chmod(b.binary, 0o755); err != nil { //nolint:gosec // it is to be run
		b.t.Fatal(err)
	}
	return b.binary
}

// A symlink to /proc/self/exe makes init's child run the program's own file
// from the host; its process must not lead others to a file that they can change.
func TestProgramFileCannotBeChangedThroughProc(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		program := b.ownBinary()
		b.sh("mkdir bin; ln -s /proc/self/exe bin/victim; printf '#!/proc/self/exe\n' > bin/script; chmod +x bin/script")
		for _, victim := range []string{"bin/victim", "bin/script"} {
			// As it has no name that it knows, it runs its (no) tests, or sleeps.
			c := b.command("./" + victim)
			c.Env = append(os.Environ(), "TEST_SLEEP=1")
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			out := b.sh(`for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
				for p in /proc/[0-9]*; do
					case $(readlink $p/exe 2>/dev/null) in */program)
						perl -e 'open(F, "<", $ARGV[0]) or die "open: $!"; print chmod(0777, *F) ? "changed\n" : "refused: $!\n"; print open(F, "+<", $ARGV[0]) ? "written\n" : "refused: $!\n"' $p/exe; exit 0
					esac
				done
				sleep 0.1
			done; echo 'not found'`)
			_ = in.Close()
			_ = c.Wait()
			if !strings.Contains(out, "refused: Read-only file system") || strings.Contains(out, "changed") || strings.Contains(out, "written") {
				if os.Getuid() != 0 || !strings.Contains(out, "not found") { // in mode P the file runs from another place
					t.Errorf("%s: %s", victim, out)
				}
			}
			if fi, err := os.Stat(program); err != nil || fi.Mode().Perm() != 0o755 {
				t.Fatalf("%s: the host's program has mode %v, %v", victim, fi.Mode(), err)
			}
		}
	})
}

// inMounts makes a client that runs in a mount namespace of its own, after a
// shell script that mounts things.
func (b *box) inMounts(script string, argv ...string) *exec.Cmd {
	c := b.command(argv...)
	shell := "mount --make-rprivate / && " + script + "\nexec -a client " + c.Path + ` "$@"`
	c.Args = append([]string{"unshare", "-m", "bash", "-c", shell, "bash"}, c.Args[1:]...)
	var err error
	if c.Path, err = exec.LookPath("unshare"); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// Root owns the device nodes in the chroots and images of the host, and needs
// no capability to open them.
func TestDeviceNodesOfTheHostCannotBeOpened(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("about root's own sandboxes; the tests run as root in CI")
	}
	t.Setenv("HOME", t.TempDir())
	b := newBox(t)
	if err := unix.Mknod(filepath.Join(b.home, "node"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))); err != nil {
		t.Fatal(err)
	}
	b.file("file", "")
	for _, d := range []string{"dev", "ro"} {
		if err := os.Mkdir(filepath.Join(b.home, d), 0o755); err != nil { //nolint:gosec // a test's directory
			t.Fatal(err)
		}
	}
	mounts := "mount --bind /dev dev && mount --bind node file && mount -t tmpfs t ro && mknod ro/node c 1 5 && mount -o remount,ro,bind ro"
	out, err := b.inMounts(mounts, "sh", "-c", "for f in node dev/zero ro/node file; do head -c3 $f | od -An -tx1; done; head -c3 /dev/zero | od -An -tx1").Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != "00 00 00" {
		t.Errorf("%v: inside, devices give %q; only /dev/zero may", err, out)
	}
}

// A read-only mount keeps nobody from connecting to a socket in it.
func TestSocketsOnReadOnlyMountsAreClosed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts on the host; the tests run as root in CI")
	}
	t.Setenv("HOME", t.TempDir())
	b := newBox(t)
	if err := os.MkdirAll(filepath.Join(b.home, "from", "sub"), 0o755); err != nil { //nolint:gosec // a test's directory
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.home, "to"), 0o755); err != nil { //nolint:gosec // a test's directory
		t.Fatal(err)
	}
	b.file("from/sub/f", "content")
	b.file("sock", "")
	l, err := net.Listen("unix", filepath.Join(b.home, "from", "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	connect := `use Socket; for (@ARGV) { socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die; print connect($s, sockaddr_un($_)) ? "connected to $_\n" : "" }`
	mounts := "mount --bind from to && mount -o remount,ro,bind to && mount --bind from/s sock"
	out, err := b.inMounts(mounts, "sh", "-c", `perl -e "$0" from/s to/s sock; cat to/sub/f; touch to/x`, connect).Output()
	var failed *exec.ExitError
	if !errors.As(err, &failed) || string(out) != "content" {
		t.Errorf("%v: inside: %q", err, out)
	}
}
