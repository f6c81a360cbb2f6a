// Package overlaytest gives a test one real overlay: a directory that plays
// the host, an upper, and the merged tree, mounted by a child process in a
// mount namespace of its own. For an ordinary user that is in a user namespace
// with userxattr (mode U), for root without one (mode P).
package overlaytest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/mount"
	"sandbox/engine/overlay"
)

// marker in the environment makes a test binary the child that mounts.
const marker = "SBX_OVERLAYTEST"

// Rig is one mounted overlay. A path on the host, in the sandbox and in the
// upper are three things: H, M and U give them for a name below the host
// directory.
type Rig struct {
	Host    string // the lower directory
	Storage string // with upper/ in it
	Xattr   string
	// Root is a descriptor of the sandbox's "/": the merged tree stands in it
	// at the path that the host directory has outside.
	Root int

	merged string
	child  *exec.Cmd
	to     io.WriteCloser
	from   *bufio.Reader
}

func init() {
	if spec := os.Getenv(marker); spec != "" {
		if err := serve(strings.Split(spec, "\x01")); err != nil {
			fmt.Fprintln(os.Stderr, "overlaytest:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// New mounts an overlay over what fill put into the host directory.
func New(t testing.TB, fill func(host string)) *Rig {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	r := &Rig{Host: base + "/host", Storage: base + "/store"}
	for _, dir := range []string{r.Host, r.Storage + "/upper", r.Storage + "/work.1", base + "/root" + r.Host} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	if fill != nil {
		fill(r.Host)
	}
	r.Mount(t)
	t.Cleanup(func() { clean(base) })
	t.Cleanup(r.Unmount)
	return r
}

// Mount mounts the overlay again after Unmount.
func (r *Rig) Mount(t testing.TB) {
	t.Helper()
	root := filepath.Dir(r.Host) + "/root"
	// A volatile overlay leaves a mark in its work directory.
	clean(r.Storage + "/work.1")
	must(t, os.RemoveAll(r.Storage+"/work.1"))
	must(t, os.Mkdir(r.Storage+"/work.1", 0o755))
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	r.Xattr = overlay.TrustedXattr
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		r.Xattr = overlay.UserXattr
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_CHOWN, unix.CAP_FOWNER}
	}
	r.child = exec.Command("/proc/self/exe")
	r.child.SysProcAttr = attr
	r.child.Stderr = os.Stderr
	// A program built with the race detector sleeps for a second at its end.
	r.child.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0",
		marker+"="+strings.Join([]string{r.Host, r.Storage, root + r.Host}, "\x01"))
	var err error
	r.to, err = r.child.StdinPipe()
	must(t, err)
	out, err := r.child.StdoutPipe()
	must(t, err)
	must(t, r.child.Start())
	r.from = bufio.NewReader(out)
	must(t, r.answer())
	seen := fmt.Sprintf("/proc/%d/root%s", r.child.Process.Pid, root)
	r.Root, err = unix.Open(seen, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	r.merged = seen + r.Host
}

// Unmount ends the child, and with it the mount.
func (r *Rig) Unmount() {
	if r.child == nil {
		return
	}
	_ = unix.Close(r.Root)
	_ = r.to.Close()
	_ = r.child.Wait()
	r.child = nil
}

// Sync drops what the overlay has cached, as a running sandbox does it.
func (r *Rig) Sync(...string) error {
	if _, err := r.to.Write([]byte("sync\n")); err != nil {
		return err
	}
	return r.answer()
}

func (r *Rig) answer() error {
	line, err := r.from.ReadString('\n')
	if err == nil && line != "ok\n" {
		err = errors.New(strings.TrimSpace(line))
	}
	return err
}

// Tree describes the overlay for a scan.
func (r *Rig) Tree() changes.Tree {
	return changes.Tree{
		Storage: r.Storage, Xattr: r.Xattr,
		Layers: []changes.Layer{{Host: r.Host, Upper: "upper"}},
		Masks:  []string{filepath.Dir(r.Storage) + "/store"},
	}
}

// H is a path on the host, M the same in the sandbox, U in the upper.
func (r *Rig) H(name string) string { return filepath.Join(r.Host, name) }

// M is a path in the merged tree, reachable from here.
func (r *Rig) M(name string) string { return filepath.Join(r.merged, name) }

// U is a path in the upper.
func (r *Rig) U(name string) string { return filepath.Join(r.Storage, "upper", name) }

// Sh runs a shell script as a program in the sandbox would, in the merged tree.
func (r *Rig) Sh(t testing.TB, script string) {
	t.Helper()
	sh(t, r.merged, script)
}

// ShHost runs a shell script in the host directory.
func (r *Rig) ShHost(t testing.TB, script string) {
	t.Helper()
	sh(t, r.Host, script)
}

func sh(t testing.TB, dir, script string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-euc", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func serve(spec []string) error {
	host, storage, target := spec[0], spec[1], spec[2]
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	var fds [3]int
	for i, dir := range []string{host, storage + "/upper", storage + "/work.1"} {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		fds[i] = fd
	}
	m, err := overlay.Mount(overlay.Spec{Target: target, Lowers: fds[:1], Upper: fds[1], Work: fds[2], User: os.Getuid() != 0})
	if err != nil {
		return err
	}
	if err := mount.AttachKeep(m, unix.AT_FDCWD, target); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for ok := true; ok; ok = in.Scan() {
		answer := "ok"
		if in.Text() == "sync" {
			if err := mount.Reconfigure(m); err != nil {
				answer = err.Error()
			}
		}
		fmt.Println(answer)
	}
	return in.Err()
}

// clean makes every directory writable, so that the temporary can go.
func clean(base string) {
	_ = filepath.WalkDir(base, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory
		}
		return nil
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
