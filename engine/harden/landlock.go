package harden

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// LandlockScopesABI is the first Landlock version that has scopes (Linux 6.12).
const LandlockScopesABI = 6

// rulesetAttr is struct landlock_ruleset_attr as of ABI 6.
type rulesetAttr struct {
	fs, net, scoped uint64
}

// Landlock puts the calling thread and its future children into a domain from
// which abstract unix sockets and signals do not reach the outside. A network
// namespace closes abstract sockets too, but not under --net=host. No file
// rules are set, so mounting inside still works.
//
// It reports false, without an error, on kernels that have no scopes.
//
// Preconditions: the goroutine is locked to its OS thread, which has
// no_new_privs or CAP_SYS_ADMIN.
func Landlock() (applied bool, err error) {
	const version = 1 // LANDLOCK_CREATE_RULESET_VERSION
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, version)
	if errno != 0 || abi < LandlockScopesABI {
		return false, nil
	}
	attr := rulesetAttr{scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return false, refused("make a Landlock domain", errno)
	}
	defer unix.Close(int(fd))
	if _, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return false, refused("enter the Landlock domain", errno)
	}
	return true, nil
}
