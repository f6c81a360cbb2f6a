package harden

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// fatalSignals are those for which the Go runtime's own handler ends the
// process. HUP, INT and TERM are not here: init takes them by signal.Notify.
var fatalSignals = []unix.Signal{
	unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT,
	unix.SIGSYS, unix.SIGSTKFLT, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGQUIT,
}

// IgnoreFatalSignals makes the kernel drop fatal signals that processes inside
// send to PID 1. The kernel does so only for signals with the default action,
// and the Go runtime handles all of them, so `kill -SEGV 1` would end a sandbox.
// A real fault in PID 1 still ends it. SIG_IGN would not do: it is inherited
// by every command.
//
// Preconditions: the caller is PID 1 of its pid namespace. Elsewhere it makes
// the signals fatal without a traceback.
func IgnoreFatalSignals() error {
	var byDefault [64]byte // struct sigaction, all zero: SIG_DFL, no flags, empty mask
	for _, sig := range fatalSignals {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
			uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
		if errno != 0 {
			return refused("reset signal "+sig.String(), errno)
		}
	}
	return nil
}
