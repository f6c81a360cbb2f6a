package renames

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of a listener's descriptor, see seccomp_unotify(2).
const (
	ioRecv     = 0xc0502100
	ioSend     = 0xc0182101
	ioIDValid  = 0x40082102
	ioSetFlags = 0x40082104

	syncWakeUp    = 1 // Linux 6.6: the answer wakes the caller on this CPU
	flagContinue  = 1 // the kernel does the call
	newListener   = 1 << 3
	waitKillable  = 1 << 5 // Linux 5.19
	specAllow     = 1 << 2
	setModeFilter = 1
	listenerAsked = newListener | waitKillable | specAllow
)

// notif is struct seccomp_notif with struct seccomp_data in it.
type notif struct {
	id    uint64
	pid   uint32 // of the thread, in the pid namespace of who reads
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	errno int32 // negative
	flags uint32
}

// install loads a filter for the calling thread and its future children, and
// returns the descriptor of its listener, which is close-on-exec. Without
// WAIT_KILLABLE_RECV a signal would make the caller ask twice for what was done
// once, so a kernel that lacks it has none of this (EINVAL). EBUSY: there is
// another listener above, as in a sandbox inside of a sandbox.
func install(code []unix.SockFilter) (int, error) {
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]} //nolint:gosec // a page of instructions
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, listenerAsked, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return -1, errno
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, ioSetFlags, syncWakeUp) // an older kernel is slower
	return int(fd), nil
}

// receive waits for the next call.
func receive(fd int, n *notif) error {
	*n = notif{} // the kernel insists on zeros
	return ioctl(fd, ioRecv, unsafe.Pointer(n))
}

// valid reports whether the caller still waits. What was read by its thread id
// before is only then known to be of the caller.
func valid(fd int, id uint64) bool { return ioctl(fd, ioIDValid, unsafe.Pointer(&id)) == nil }

// send answers. A caller that is gone needs none.
func send(fd int, a answer) { _ = ioctl(fd, ioSend, unsafe.Pointer(&a)) }

func ioctl(fd int, request uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}
