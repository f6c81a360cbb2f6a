package harden

import "golang.org/x/sys/unix"

const (
	nativeArch  = unix.AUDIT_ARCH_AARCH64
	foreignFrom = 0
)

// deniedHere are calls that only this architecture has.
var deniedHere []uint32
