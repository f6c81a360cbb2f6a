package run

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/launch"
	"sandbox/internal/testuser"
)

func syncView(l *launch.Link, path string) error { return control.NewView(l.Conn).Sync(path) }

// A descriptor of a host directory that reached a command would be a way to
// write to the host.
func TestInheritedDescriptorsAreClosed(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		for _, first := range []bool{true, false} { // the start and the join
			d, err := os.Open(b.home)
			if err != nil {
				t.Fatal(err)
			}
			c := b.command("sh", "-c", "ls /proc/self/fd | tr '\\n' ' '; echo hacked > /proc/self/fd/3/f; echo hacked > /proc/self/fd/9/f; true")
			c.ExtraFiles = []*os.File{d, d, d, d, d, d, d}
			out, err := c.Output()
			_ = d.Close()
			if err != nil || !strings.HasPrefix(string(out), "0 1 2 3 ") || strings.Contains(string(out), "4") {
				t.Errorf("first=%v: descriptors %q, %v", first, out, err)
			}
			if _, err := os.Lstat(filepath.Join(b.home, "f")); err == nil {
				t.Error("the host was written to")
			}
		}
	})
}

// Stdin that is a regular file could be opened again for writing through
// /proc/self/fd/0; so it comes through a pipe.
func TestRegularStdinCannotBeWritten(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		path := b.file("in", "host\n")
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		c := b.command("sh", "-c", "echo hacked > /proc/self/fd/0; stat -Lc %F /proc/self/fd/0")
		c.Stdin = f
		out, _ := c.Output()
		if got := strings.TrimSpace(string(out)); got != "fifo" {
			t.Errorf("stdin is a %q inside", got)
		}
		if b.content(path) != "host\n" {
			t.Errorf("the host's file holds %q", b.content(path))
		}
	})
}

func TestEnvironmentIsScrubbed(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		c := b.command("env")
		c.Env = append(os.Environ(), "NVIM=/x", "NVIM_LISTEN_ADDRESS=/x", "SSH_AUTH_SOCK=/x", "DBUS_SESSION_BUS_ADDRESS=x", "TMUX=x", "KEPT=1")
		out, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"NVIM", "SSH_AUTH_SOCK", "DBUS_", "TMUX"} {
			if strings.Contains(string(out), "\n"+bad) {
				t.Errorf("%s is inside:\n%s", bad, out)
			}
		}
		for _, want := range []string{"KEPT=1\n", "SANDBOX=box\n"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q is missing:\n%s", want, out)
			}
		}
	})
}

// The storage is not there, and what is made in its place is not the storage.
func TestStorageIsHidden(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		if out, _, code := b.run("ls", b.storage); code == 0 {
			t.Errorf("the storage is visible: %s", out)
		}
		b.sh("mkdir " + b.storage + "; echo x > " + b.storage + "/sandbox.json")
		if strings.Contains(b.content(b.dir().Path("sandbox.json")), "x\n") || b.content(filepath.Join(b.storage, "sandbox.json")) == "x\n" {
			t.Error("the sandbox wrote to its own storage")
		}
	})
}

func TestHostSocketsAreClosed(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		l, err := net.Listen("unix", filepath.Join(b.home, "sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		a, err := net.Listen("unix", "@sandbox-test-abstract")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Close() }()
		for _, env := range []string{"none", "host"} {
			t.Setenv("TEST_NET", env)
			for _, target := range []string{"UNIX-CONNECT:sock", "ABSTRACT-CONNECT:sandbox-test-abstract"} {
				out, errs, code := b.run("perl", "-MSocket", "-e", `
					my ($kind, $name) = split /:/, $ARGV[0];
					$name = "\0$name" if $kind =~ /ABSTRACT/;
					socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die;
					exit(connect($s, sockaddr_un($name)) ? 0 : 9)`, target)
				if code != 9 {
					t.Errorf("net=%s: %s: exit %d %s%s", env, target, code, out, errs)
				}
			}
			if err := launch.Stop(b.dir()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestNetworkIsOnlyLoopback(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		if got := b.sh("ls /sys/class/net; cat /sys/class/net/lo/flags"); got != "lo\n0x9" {
			t.Errorf("inside: %q, want lo, up", got)
		}
		t.Setenv("TEST_NET", "host")
		if _, errs, code := b.run("true"); code != 125 || !strings.Contains(errs, "sandbox stop box") {
			t.Errorf("joining with another network: exit %d, %q", code, errs)
		}
	})
}

func TestInitCannotBeKilledOrRead(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.sh("for s in TERM KILL SEGV BUS ILL ABRT HUP USR1 STOP; do kill -$s 1; done; true")
		for _, file := range []string{"environ", "maps", "root/etc/passwd", "cwd/etc/passwd", "exe", "fd/0", "fd/1", "mem"} {
			if out, _, code := b.run("sh", "-c", "head -c1 /proc/1/"+file); out != "" || code == 0 {
				t.Errorf("/proc/1/%s can be read: %q", file, out)
			}
		}
		if got := b.sh("echo alive"); got != "alive" {
			t.Error("init is gone")
		}
	})
}

// Root inside may use no device, no kernel setting and no mount of the host.
func TestRootHasNoPowerOverTheMachine(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("about root's own sandboxes; the tests run as root in CI")
	}
	t.Setenv("HOME", t.TempDir())
	b := newBox(t)
	for _, attack := range []string{
		"mknod disk b 254 0 && head -c1 disk",
		"echo x > /proc/sys/kernel/core_pattern",
		"echo 1 > /proc/sys/vm/drop_caches",
		"mount -o remount,rw /proc/sys",
		"umount /proc/sys",
		"umount -l /proc/keys",
		"mount -t proc proc /mnt",
		"unshare -pf --mount-proc true",
		"echo x > /sys/kernel/uevent_helper",
		"mount -o remount,rw /sys",
		"chroot /proc/1/root true",
		"nsenter -t 1 -m true",
		"nsenter -t 1 -U true",
	} {
		if out, errs, code := b.run("sh", "-c", attack); code == 0 {
			t.Errorf("%s: succeeded: %s%s", attack, out, errs)
		}
	}
	// and what root must be able to do
	b.sh("touch f && chown 1234:4321 f && chmod 4755 f && mkdir /mnt/t && mount -t tmpfs none /mnt/t && su -s /bin/sh nobody -c 'id -un'")
	var st unix.Stat_t
	if unix.Lstat(filepath.Join(b.home, "f"), &st) == nil {
		t.Error("the file is on the host")
	}
}

func TestOrdinaryUserHasNoCapability(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		status := b.sh("cat /proc/self/status")
		if os.Getuid() != 0 {
			for _, want := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"} {
				if !strings.Contains(status, want) {
					t.Errorf("%s is missing:\n%s", want, status)
				}
			}
		}
		if !strings.Contains(status, "Seccomp:\t2") {
			t.Error("no seccomp filter")
		}
	})
}

func TestOrphansAreReaped(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.sh("for i in 1 2 3 4 5 6 7 8; do (sleep 0.05 &) ; done; sleep 0.3")
		if got := b.sh("grep -l '^State:.Z' /proc/[0-9]*/status || true"); got != "" {
			t.Errorf("zombies: %s", got)
		}
	})
}

func TestDevicesAndTemporaryDirectoriesWork(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.sh("echo x > /dev/null && head -c4 /dev/zero >/dev/null && head -c4 /dev/urandom > /dev/null && touch /dev/shm/x /tmp/x /var/tmp/x $HOME/x && mkfifo p")
		if got := b.sh("bash -c 'cat <(echo sub)'"); got != "sub" {
			t.Errorf("process substitution gives %q", got)
		}
	})
}

// Whoever may mount the cgroup file systems may stop and end the processes
// that share the caller's cgroup, on the host.
func TestCgroupsOfTheHostAreOutOfReach(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		for _, attack := range []string{
			"unshare -C true",
			"unshare -UrC true",
			"unshare -Urm mount -t cgroup2 none /mnt",
			"unshare -UrmC sh -c 'mount -t cgroup2 none /mnt'",
			"mount -t cgroup2 none /mnt",
			"mount -t cgroup -o freezer none /mnt",
		} {
			if out, errs, code := b.run("sh", "-c", attack); code == 0 {
				t.Errorf("%s: succeeded: %s%s", attack, out, errs)
			}
		}
		if got := b.sh("unshare -Urmpf sh -c 'echo other namespaces work'"); got != "other namespaces work" {
			t.Errorf("got %q", got)
		}
	})
}
