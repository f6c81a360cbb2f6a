package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sandbox/internal/testuser"
)

// bench is one user's measurement.
type bench struct {
	options
	work    string // everything that is made here
	storage string
}

// newBench lays out a working folder in the user's home, with a copy of the
// binary: what runs from it can be told from every other sandbox there is.
func newBench(o options) (*bench, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(home, "sandbox-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, work: work, storage: filepath.Join(work, "storage")}
	b.binary = filepath.Join(work, "sandbox")
	return b, copyFile(o.binary, b.binary)
}

// describe says on what the numbers were taken.
func (b *bench) describe() {
	var name unix.Utsname
	_ = unix.Uname(&name) // cannot fail
	who := "an ordinary user"
	if os.Geteuid() == 0 {
		who = "root"
	}
	fmt.Printf("### As %s\n\nLinux %s, %d CPUs, home on %s.", who, unix.ByteSliceToString(name.Release[:]), runtime.NumCPU(), filesystem(b.work))
	if others := processes("sandbox"); len(others) != 0 {
		fmt.Printf(" %d other sandbox processes were alive and may have disturbed it.", len(others))
	}
	fmt.Printf("\n\n")
}

// command makes a `sandbox` command line for one of this bench's sandboxes.
func (b *bench) command(name string, args ...string) []string {
	return append([]string{b.binary, "--no-config", "--storage-dir", b.storage, "--name", name}, args...)
}

// do runs a command outside of the clock.
func (b *bench) do(argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = b.work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	return nil
}

// remove ends a sandbox and deletes it.
func (b *bench) remove(name string) error {
	return b.do(b.command(name, "delete", "-y")...)
}

// clean deletes what was made, and fails when a process of it is still there.
func (b *bench) clean() error {
	names, _ := os.ReadDir(b.storage) // absent when nothing was started
	for _, entry := range names {
		if entry.IsDir() {
			_ = b.remove(entry.Name()) // what is left is found below
		}
	}
	for _, pid := range processes(b.work) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		return fmt.Errorf("process %d was left over: the numbers above are not to be trusted", pid)
	}
	return os.RemoveAll(b.work)
}

// processes lists the processes whose program is below a folder, or has a name.
func processes(what string) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc") // without it there is nothing to find
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		program, err := os.Readlink(filepath.Join("/proc", entry.Name(), "exe"))
		if err != nil {
			continue
		}
		program = strings.TrimSuffix(program, " (deleted)")
		if filepath.Base(program) == what || strings.HasPrefix(program, what+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// measureAsUser runs this program again as the ordinary user of the tests.
func measureAsUser(o options) error {
	u, err := testuser.Make()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("/var/tmp", "sandbox-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	self, binary := filepath.Join(dir, "bench"), filepath.Join(dir, "binary")
	if err := copyFile("/proc/self/exe", self); err != nil {
		return err
	}
	if err := copyFile(o.binary, binary); err != nil {
		return err
	}
	id, err := credential(u)
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-child", "-sandbox", binary, "-starts", strconv.Itoa(o.starts),
		"-reviews", strconv.Itoa(o.reviews), "-files", strconv.Itoa(o.files))
	cmd.Dir = u.HomeDir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + u.HomeDir, "USER=" + u.Username, "LANG=C.UTF-8"}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: id}
	return cmd.Run()
}

func credential(u *user.User) (*syscall.Credential, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{}}, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closing := out.Close(); err == nil {
		err = closing
	}
	return err
}

// filesystem names the kind of file system that a path is on.
func filesystem(path string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return "an unknown file system"
	}
	switch st.Type {
	case unix.EXT4_SUPER_MAGIC:
		return "ext4"
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs"
	case unix.XFS_SUPER_MAGIC:
		return "xfs"
	case unix.TMPFS_MAGIC:
		return "tmpfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay"
	}
	return fmt.Sprintf("file system 0x%x", st.Type)
}
