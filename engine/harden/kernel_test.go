package harden

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"sandbox/internal/testuser"
)

// stageVar makes the test binary a part of a test: "apply:MODE" is the process
// that restricts a thread and starts "probe" from it, as init does.
const stageVar = "HARDEN_STAGE"

func TestMain(m *testing.M) {
	switch kind, arg, _ := strings.Cut(os.Getenv(stageVar), ":"); kind {
	case "apply":
		apply(arg)
	case "probe":
		probe()
	case "pid1":
		pid1(arg)
	case "kill1":
		for _, sig := range fatalSignals {
			fmt.Println("kill", sig, unix.Kill(1, sig))
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// apply restricts its thread and reports what a program sees that it starts.
func apply(mode string) {
	say := func(key string, v any) { fmt.Printf("%s=%v\n", key, v) }
	runtime.LockOSThread()
	check := func(err error) {
		if err != nil {
			say("error", err)
			os.Exit(1)
		}
	}
	for _, m := range strings.Split(mode, ",") {
		switch m {
		case "closed":
			check(Undumpable())
		case "drop":
			check(DropCapabilities())
		case "root":
			check(LimitRoot())
		case "landlock":
			ok, err := Landlock()
			check(err)
			say("landlock", ok)
		case "seccomp":
			check(Seccomp())
		}
	}
	free := make(chan string)
	go func() {
		runtime.LockOSThread()
		b, err := os.ReadFile("/proc/thread-self/status")
		check(err)
		free <- field(string(b), "Seccomp") + " " + field(string(b), "NoNewPrivs")
	}()
	say("other_thread", <-free)

	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), stageVar+"=probe")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	check(cmd.Run())

	if path := os.Getenv("HARDEN_INT80"); path != "" {
		foreign := exec.Command(path)
		err := foreign.Run()
		say("int80", foreign.ProcessState)
		_ = err
	}
	os.Exit(0)
}

// probe tries what must be refused and prints the outcomes.
func probe() {
	say := func(key string, v any) { fmt.Printf("%s=%v\n", key, v) }
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		say("error", err)
	}
	for _, f := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"} {
		say(f, field(string(status), f))
	}
	bad := ^uintptr(0)
	for name, nr := range map[string]uintptr{
		"keyctl": unix.SYS_KEYCTL, "name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "bpf": unix.SYS_BPF,
	} {
		_, _, errno := unix.Syscall6(nr, bad, bad, bad, bad, bad, bad)
		say(name, errno)
	}
	master, slave, err := openPty()
	if err != nil {
		say("error", err)
	} else {
		char := byte('x')
		for name, req := range map[string]uintptr{"tiocsti": unix.TIOCSTI, "tiocsti_high": unix.TIOCSTI | 1<<32} {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(slave), req, uintptr(unsafe.Pointer(&char)))
			say(name, errno)
		}
		_ = master
	}
	if name := os.Getenv("HARDEN_ABSTRACT"); name != "" {
		c, err := net.Dial("unix", "@"+name)
		if err == nil {
			err = c.Close()
		}
		say("abstract_outside", short(err))
		l, err := net.Listen("unix", "@"+name+".inside")
		if err == nil {
			_, err = net.Dial("unix", "@"+name+".inside")
			_ = l.Close()
		}
		say("abstract_inside", short(err))
	}
	if pid, err := strconv.Atoi(os.Getenv("HARDEN_OUTSIDE_PID")); err == nil {
		say("signal_outside", short(unix.Kill(pid, 0)))
	}
	say("ptrace_parent", short(seizeAnyThread(os.Getppid())))
	sleeper := exec.Command("sleep", "10")
	if err := sleeper.Start(); err == nil {
		say("ptrace_child", short(seize(sleeper.Process.Pid)))
		_ = sleeper.Process.Kill()
	}
	os.Exit(0)
}

// seizeAnyThread reports nil when one thread of a process can be traced: all
// share their memory.
func seizeAnyThread(pid int) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, th := range threads {
		tid, _ := strconv.Atoi(th.Name())
		if err = seize(tid); err == nil {
			return nil
		}
	}
	return err
}

// seize attaches to a process without stopping it.
func seize(pid int) error {
	runtime.LockOSThread() // the tracer is a thread
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func pid1(mode string) {
	if mode == "guarded" {
		if err := IgnoreFatalSignals(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), stageVar+"=kill1")
	out, err := cmd.CombinedOutput()
	fmt.Printf("%s\nalive %v\n", out, err)
	os.Exit(0)
}

func openPty() (master, slave int, err error) {
	master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, 0, err
	}
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return 0, 0, err
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err != nil {
		return 0, 0, err
	}
	// No O_NOCTTY: the slave becomes the terminal of this session.
	slave, err = unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_CLOEXEC, 0)
	return master, slave, err
}

func field(status, name string) string {
	for sc := bufio.NewScanner(strings.NewReader(status)); sc.Scan(); {
		if v, ok := strings.CutPrefix(sc.Text(), name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return "?"
}

// short is the errno of an error, so that tables can compare it.
func short(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return fmt.Sprint(err)
}

// start runs a stage in a user namespace that maps what the real one does: the
// user's own ids, or all ids for root.
func start(t *testing.T, stage string, flags uintptr, env ...string) map[string]string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), stageVar+"="+stage)
	cmd.Env = append(cmd.Env, env...)
	uid, gid, size := os.Getuid(), os.Getgid(), 1
	if uid == 0 {
		size = 1 << 20
	}
	var all []uintptr
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if unix.Prctl(unix.PR_CAPBSET_READ, c, 0, 0, 0) == nil {
			all = append(all, c)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: size}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: size}},
		AmbientCaps: all,
	}
	out, err := cmd.CombinedOutput()
	got := map[string]string{"": string(out), "err": fmt.Sprint(err)}
	for _, line := range strings.Split(string(out), "\n") {
		if k, v, ok := strings.Cut(line, "="); ok {
			got[k] = v
		}
	}
	return got
}

// outside is what a sandbox must not reach.
func outside(t *testing.T) []string {
	t.Helper()
	name := fmt.Sprintf("harden-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	l, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return []string{
		"HARDEN_ABSTRACT=" + name,
		"HARDEN_OUTSIDE_PID=" + strconv.Itoa(os.Getpid()),
		"HARDEN_INT80=" + int80(t),
	}
}

// int80 writes a 64-bit program that calls getpid by the i386 table and then
// exits with 7 by the native one.
func int80(t *testing.T) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		return ""
	}
	code := []byte{
		0xb8, 20, 0, 0, 0, // mov eax, 20
		0xcd, 0x80, // int 0x80
		0xb8, 60, 0, 0, 0, // mov eax, 60
		0xbf, 7, 0, 0, 0, // mov edi, 7
		0x0f, 0x05, // syscall
	}
	const base, head = 0x400000, 64 + 56
	elf := make([]byte, head, head+len(code))
	copy(elf, "\x7fELF\x02\x01\x01")
	elf[16], elf[18], elf[20] = 2, 62, 1 // ET_EXEC, x86-64, version
	put := func(off int, v uint64) { *(*uint64)(unsafe.Pointer(&elf[off])) = v }
	put(24, base+head)                    // entry
	put(32, 64)                           // program headers
	elf[52], elf[54], elf[56] = 64, 56, 1 // sizes and count
	elf[64], elf[68] = 1, 5               // PT_LOAD, r-x
	put(80, base)
	put(88, base)
	put(96, uint64(head+len(code)))
	put(104, uint64(head+len(code)))
	put(112, 0x1000)
	elf = append(elf, code...)
	path := filepath.Join(t.TempDir(), "int80")
	if err := os.WriteFile(path, elf, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return path
}

func expect(t *testing.T, got map[string]string, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s is %q, want %q", k, got[k], v)
		}
	}
	if t.Failed() {
		t.Log(got[""], got["err"])
	}
}

const (
	none  = "0000000000000000"
	eperm = "operation not permitted"
)

// The control: without the restrictions the probes get through, so that the
// refusals in the other tests prove something.
func TestWithoutRestrictionsTheProbesGetThrough(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		got := start(t, "apply:", 0, outside(t)...)
		want := map[string]string{
			"Seccomp": "0", "NoNewPrivs": "0",
			"abstract_outside": "<nil>", "signal_outside": "<nil>",
			"ptrace_parent": "<nil>", "ptrace_child": "<nil>",
		}
		if b, err := os.ReadFile("/proc/sys/dev/tty/legacy_tiocsti"); err != nil || strings.TrimSpace(string(b)) == "1" {
			want["tiocsti"] = "errno 0"
			want["tiocsti_high"] = "errno 0"
		}
		if runtime.GOARCH == "amd64" {
			want["int80"] = "exit status 7"
		}
		expect(t, got, want)
		if got["CapEff"] == none || got["keyctl"] == eperm || got["io_uring_setup"] == "function not implemented" {
			t.Errorf("the control is restricted: %s", got[""])
		}
	})
}

func TestUserCommandsHaveNothing(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		got := start(t, "apply:closed,drop,landlock,seccomp", 0, outside(t)...)
		want := map[string]string{
			"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
			"NoNewPrivs": "1", "Seccomp": "2", "other_thread": "0 0",
			"keyctl": eperm, "name_to_handle_at": eperm, "bpf": eperm,
			"io_uring_setup": "function not implemented",
			"tiocsti":        eperm, "tiocsti_high": eperm,
			"abstract_inside": "<nil>", "ptrace_child": "<nil>", "ptrace_parent": eperm,
		}
		if got["landlock"] == "true" {
			want["abstract_outside"] = eperm
			want["signal_outside"] = eperm
		}
		if runtime.GOARCH == "amd64" {
			want["int80"] = "signal: bad system call"
			if strings.Contains(got["int80"], "core dumped") {
				want["int80"] += " (core dumped)"
			}
		}
		expect(t, got, want)
	})
}

// Landlock alone would keep commands from tracing init; older kernels have none.
func TestUserCommandsCannotTraceInitWithoutLandlock(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		got := start(t, "apply:closed,drop", 0)
		expect(t, got, map[string]string{"ptrace_parent": eperm, "ptrace_child": "<nil>", "CapEff": none})
	})
}

func TestRootCommandsAreLimited(t *testing.T) {
	if testuser.Inside() || os.Getuid() != 0 {
		t.Skip("LimitRoot is for root")
	}
	kept := fmt.Sprintf("%016x", uint64(rootKeeps))
	for _, mode := range []string{"root", "root,seccomp", "root,landlock,seccomp"} {
		t.Run(mode, func(t *testing.T) {
			got := start(t, "apply:closed,"+mode, 0)
			want := map[string]string{
				"CapInh": none, "CapAmb": none, "CapPrm": kept, "CapEff": kept, "CapBnd": kept,
				"NoNewPrivs": "0", "ptrace_parent": eperm, "ptrace_child": "<nil>",
			}
			if strings.Contains(mode, "seccomp") {
				want["Seccomp"] = "2"
				want["tiocsti"] = eperm
			}
			expect(t, got, want)
		})
	}
}

func TestSignalsFromInsideDoNotEndInit(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		if got := start(t, "pid1:", unix.CLONE_NEWPID); strings.Contains(got[""], "alive") {
			t.Fatalf("the control survived, so this test proves nothing: %s", got[""])
		}
		got := start(t, "pid1:guarded", unix.CLONE_NEWPID)
		if !strings.Contains(got[""], "alive <nil>") || strings.Count(got[""], "<nil>") != len(fatalSignals)+1 {
			t.Errorf("init died or a kill failed: %s %s", got[""], got["err"])
		}
	})
}
