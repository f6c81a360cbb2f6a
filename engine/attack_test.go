package engine

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"sandbox/internal/testuser"
)

// attackVar makes the test binary, run in a sandbox, attack the processes that
// belong to the sandbox itself.
const attackVar = "SANDBOX_TEST_ATTACK"

// attack prints one line for everything that got through.
func attack() {
	ents, err := os.ReadDir("/proc")
	if err != nil {
		fmt.Println("cannot look:", err)
	}
	targets := 0
	for _, ent := range ents {
		pid, err := strconv.Atoi(ent.Name())
		if err != nil || pid == os.Getpid() || !ours(pid) {
			continue
		}
		targets++
		attackOne(pid)
	}
	fmt.Println("targets", targets)
}

// ours reports whether a process is a part of the sandbox: it runs this binary
// under a name that the engine gives.
func ours(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return pid == 1 || (err == nil && strings.HasPrefix(string(line), "sandbox-"))
}

func attackOne(pid int) {
	runtime.LockOSThread() // the tracer is a thread
	through := func(what string, err error) {
		if err == nil {
			fmt.Printf("THROUGH: %s of %d\n", what, pid)
		}
	}
	dir := fmt.Sprintf("/proc/%d", pid)
	tasks, _ := os.ReadDir(dir + "/task")
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(tid), 0, 0, 0, 0)
		through("ptrace", failed(errno))
	}
	for _, name := range []string{"mem", "environ", "maps", "auxv", "pagemap"} {
		f, err := os.OpenFile(dir+"/"+name, os.O_RDONLY, 0)
		if err == nil {
			_, err = f.Read(make([]byte, 1))
		}
		through("reading "+name, err)
	}
	f, err := os.OpenFile(dir+"/mem", os.O_RDWR, 0)
	if err == nil {
		_ = f.Close()
	}
	through("opening mem to write", err)
	f, err = os.OpenFile(dir+"/exe", os.O_WRONLY, 0)
	if err == nil {
		_ = f.Close()
	}
	through("opening its program to write", err)
	for _, link := range []string{"root", "cwd", "exe"} {
		_, err = os.Readlink(dir + "/" + link)
		through("following "+link, err)
	}
	for fd := range 12 { // their numbers are no secret, what they lead to is
		link := fmt.Sprintf("%s/fd/%d", dir, fd)
		_, err = os.Readlink(link)
		through("following descriptor "+strconv.Itoa(fd), err)
		f, err := unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(f)
		}
		through("opening descriptor "+strconv.Itoa(fd), err)
	}
	for _, ns := range []string{"mnt", "user", "net", "pid"} {
		fd, err := unix.Open(dir+"/ns/"+ns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, 0)
		}
		through("entering its namespace "+ns, err)
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		for fd := range 12 {
			_, _, errno := unix.Syscall(unix.SYS_PIDFD_GETFD, uintptr(pidfd), uintptr(fd), 0)
			through("taking descriptor "+strconv.Itoa(fd), failed(errno))
		}
	}
	var b [8]byte
	local := []unix.Iovec{{Base: &b[0], Len: 8}}
	remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&attackVarCopy)), Len: 8}}
	_, err = unix.ProcessVMReadv(pid, local, remote, 0)
	through("process_vm_readv", err)
	_, err = unix.ProcessVMWritev(pid, local, remote, 0)
	through("process_vm_writev", err)
}

// attackVarCopy has the same address in every process of this binary.
var attackVarCopy = [8]byte{1}

func failed(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// The init of a sandbox holds capabilities, the control socket and a
// descriptor of the storage: whoever gets into it is out.
func TestCommandsCannotGetIntoTheSandboxsOwnProcesses(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"x": "x"})
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(attackVar, "1")
		out := w.run("exec '" + self + "'")
		if strings.Contains(out, "THROUGH") || !strings.Contains(out, "targets ") || strings.Contains(out, "targets 0") {
			t.Error(out)
		}
	})
}
