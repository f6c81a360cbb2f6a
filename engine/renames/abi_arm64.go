package renames

import "golang.org/x/sys/unix"

const nativeArch = unix.AUDIT_ARCH_AARCH64

// plainRename is rename(2), which this architecture has not.
const plainRename = -1
