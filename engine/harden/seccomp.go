package harden

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Actions of a filter.
const (
	allow      = unix.SECCOMP_RET_ALLOW
	killAll    = unix.SECCOMP_RET_KILL_PROCESS
	denyEPERM  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	denyENOSYS = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// denied are the system calls that answer EPERM: they act on the machine
// instead of on files and processes, or open large parts of the kernel that no
// build tool or agent needs. ptrace stays (gdb, strace; the pid namespace
// limits it), and so do mount and pivot_root, which nested sandboxes and bwrap
// use in user namespaces of their own.
var denied = append([]uint32{
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_NFSSERVCTL, unix.SYS_VHANGUP,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_SYSLOG,
}, deniedHere...)

// absent are the system calls that answer ENOSYS, because libraries then fall
// back to something else: io_uring does its work past any seccomp filter, and
// clone3 has its flags in memory, where a filter cannot look.
var absent = []uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3,
}

// deniedNamespaces are refused to unshare and clone. A new cgroup namespace
// lets its owner mount the cgroup file systems, and there the cgroup that a
// command shares with the caller's other processes: writing to cgroup.kill or
// cgroup.freeze would end or stop them.
const deniedNamespaces = unix.CLONE_NEWCGROUP

// deniedIoctls push input into a terminal. Only the low 32 bits of the request
// are looked at, as the kernel does; a filter that compares all 64 is passed by
// setting a high bit.
var deniedIoctls = []uint32{unix.TIOCSTI, unix.TIOCLINUX}

// filter builds the deny list for an architecture. A program of another
// architecture (i386 on amd64) has other numbers for the same calls, so it is
// killed with SIGSYS; the x32 numbers of amd64 start at foreignFrom and answer
// ENOSYS.
func filter(arch, foreignFrom uint32) []unix.SockFilter {
	var a asm
	a.load(offArch)
	a.jumpEq(arch, "native")
	a.ret(killAll)

	a.mark("native")
	a.load(offNr)
	if foreignFrom != 0 {
		a.jumpGe(foreignFrom, "absent")
	}
	a.jumpEq(unix.SYS_IOCTL, "ioctl")
	a.jumpEq(unix.SYS_UNSHARE, "namespaces")
	a.jumpEq(unix.SYS_CLONE, "namespaces")
	for _, nr := range denied {
		a.jumpEq(nr, "deny")
	}
	for _, nr := range absent {
		a.jumpEq(nr, "absent")
	}
	a.ret(allow)

	a.mark("ioctl")
	a.load(offArg1)
	for _, request := range deniedIoctls {
		a.jumpEq(request, "deny")
	}
	a.ret(allow)

	a.mark("namespaces")
	a.load(offArg0)
	a.jumpAny(deniedNamespaces, "deny")
	a.ret(allow)

	a.mark("deny")
	a.ret(denyEPERM)
	a.mark("absent")
	a.ret(denyENOSYS)
	return a.link()
}

// Seccomp loads the deny list for the calling thread and its future children.
//
// Preconditions: the goroutine is locked to its OS thread, which has
// no_new_privs or CAP_SYS_ADMIN in its user namespace.
func Seccomp() error {
	code := filter(nativeArch, foreignFrom)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	// SPEC_ALLOW: older kernels otherwise turn on a costly CPU mitigation for
	// every process with a filter.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return refused("load the seccomp filter", errno)
	}
	return nil
}
