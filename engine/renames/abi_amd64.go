package renames

import "golang.org/x/sys/unix"

const nativeArch = unix.AUDIT_ARCH_X86_64

// plainRename is rename(2), which not every architecture has.
const plainRename = unix.SYS_RENAME
