// Package testuser runs a test twice: as root and as an ordinary user that it
// makes. A sandbox works differently for the two, so nearly every test of real
// namespaces wants both.
//
//	func TestRun(t *testing.T) {
//		testuser.Both(t, func(t *testing.T) {
//			// runs as root in TestRun/root, as the user in TestRun/user;
//			// HOME is private and empty in both
//		})
//	}
package testuser

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Name is the login of the user that is made.
const Name = "sbxtest"

// marker is set in the environment of the re-executed test binary.
const marker = "SBX_TESTUSER"

// Both runs body as the subtests "root" and "user". For the second it starts
// this test binary again as the ordinary user, with only that subtest, and
// reports its outcome as its own.
//
// HOME and TMPDIR are private to each run, other XDG and SANDBOX variables are
// unset, so body must not call t.Parallel. When the tests are started by
// an ordinary user, "user" runs directly and "root" is skipped.
func Both(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	switch {
	case Inside():
		t.Run("user", body)
	case os.Getuid() == 0:
		t.Run("root", func(t *testing.T) {
			privateHome(t)
			body(t)
		})
		t.Run("user", reexec)
	default:
		t.Run("root", func(t *testing.T) { t.Skip("started by an ordinary user; start the tests as root for this half") })
		t.Run("user", func(t *testing.T) {
			privateHome(t)
			body(t)
		})
	}
}

// Inside reports whether this process is a test binary that Both started
// again. A TestMain that builds something asks it, and does not build twice.
func Inside() bool { return os.Getenv(marker) != "" }

// privateHome gives the running test an empty HOME.
func privateHome(t *testing.T) {
	home := t.TempDir()
	for _, kv := range os.Environ() {
		key, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(key, "XDG_") || key == "SANDBOX" {
			t.Setenv(key, "") // registers the restore
			os.Unsetenv(key)  //nolint:errcheck // cannot fail
		}
	}
	tmp := filepath.Join(home, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("TMPDIR", tmp)
}

// reexec runs the current subtest in a child that is the ordinary user.
func reexec(t *testing.T) {
	u := Ensure(t)
	uid, gid := ids(t, u)
	dir, err := os.MkdirTemp("", "sbxtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // best effort: a temporary
	home, bin := filepath.Join(dir, "home"), filepath.Join(dir, "t.test")
	// The directory that `go test` builds in is closed to other users.
	copyBinary(t, bin)
	for _, p := range []string{dir, home, filepath.Join(home, "tmp")} {
		if err := os.MkdirAll(p, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(p, uid, gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, 0o755); err != nil { //nolint:gosec // others must be able to search it
			t.Fatal(err)
		}
	}

	cmd := exec.Command(bin, "-test.v", "-test.count=1", "-test.run="+pattern(t.Name()))
	if deadline, ok := t.Deadline(); ok {
		cmd.Args = append(cmd.Args, "-test.timeout="+time.Until(deadline).Round(time.Second).String())
	}
	cmd.Env = env(u, home)
	cmd.SysProcAttr = Credential(t)
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil {
		t.Fatalf("as %s: %v\n%s", Name, err, text)
	}
	switch {
	case strings.Contains(text, "--- SKIP: "+t.Name()+" "):
		t.Skipf("as %s:\n%s", Name, text)
	case !strings.Contains(text, "--- PASS: "+t.Name()+" "):
		t.Fatalf("as %s: the subtest did not run\n%s", Name, text)
	case testing.Verbose():
		t.Log(text)
	}
}

// Ensure makes the user when it is missing, and returns it. Only root can.
func Ensure(t testing.TB) *user.User {
	t.Helper()
	u, err := Make()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Make is Ensure for programs that are no tests.
func Make() (*user.User, error) {
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "sbxtest.lock"), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	defer lock.Close() // releases the lock
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return nil, err
	}
	if u, err := user.Lookup(Name); err == nil {
		return u, nil
	}
	out, err := exec.Command("useradd", "--create-home", "--shell", "/bin/sh", Name).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("useradd %s: %w\n%s", Name, err, out)
	}
	return user.Lookup(Name)
}

// Credential is the SysProcAttr that starts a command as the user.
func Credential(t testing.TB) *syscall.SysProcAttr {
	t.Helper()
	uid, gid := ids(t, Ensure(t))
	return &syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{}, //nolint:gosec // ids are small
	}}
}

func ids(t testing.TB, u *user.User) (uid, gid int) {
	t.Helper()
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	gid, err = strconv.Atoi(u.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return uid, gid
}

// env is the environment of the child: ours without what belongs to root's
// session, and with a private home.
func env(u *user.User, home string) []string {
	var out []string
	for _, kv := range os.Environ() {
		key, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(key, "XDG_"), key == "SANDBOX",
			key == "HOME", key == "USER", key == "LOGNAME", key == "TMPDIR", key == "MAIL",
			key == "GOCACHE", key == "GOPATH", key == "GOMODCACHE", key == "GOTMPDIR":
		default:
			out = append(out, kv)
		}
	}
	return append(out, marker+"=1", "HOME="+home, "TMPDIR="+filepath.Join(home, "tmp"),
		"USER="+u.Username, "LOGNAME="+u.Username)
}

// pattern is the -test.run expression of exactly one subtest.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	// What -test.run says about subtests of this one goes on.
	if given := flag.Lookup("test.run"); given != nil {
		if more := strings.Split(given.Value.String(), "/"); len(more) > len(parts) {
			parts = append(parts, more[len(parts):]...)
		}
	}
	return strings.Join(parts, "/")
}

func copyBinary(t *testing.T, to string) {
	t.Helper()
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755) //nolint:gosec // others run it
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.Fatal(fmt.Errorf("copy the test binary: %w", err))
	}
	if err := os.Chmod(to, 0o755); err != nil { //nolint:gosec // others run it
		t.Fatal(err)
	}
}
