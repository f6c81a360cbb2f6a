package renames

import "golang.org/x/sys/unix"

// reported are the calls that the filter reports. A program that enters a
// Landlock domain is noted and never helped again.
func reported() []uint32 {
	nrs := []uint32{unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LANDLOCK_RESTRICT_SELF}
	if plainRename >= 0 {
		nrs = append([]uint32{plainRename}, nrs...)
	}
	return nrs
}

// call is what a reported rename asks for. The names are addresses in the
// caller's memory.
type call struct {
	oldDir, newDir int32
	oldName        uint64
	newName        uint64
	flags          uint
}

// parse reads the arguments of a reported call. It reports false for what is
// left to the kernel: flags that exchange or leave a whiteout, and anything
// that is no rename of this architecture.
func parse(n *notif) (call, bool) {
	if n.arch != nativeArch {
		return call{}, false
	}
	c := call{oldDir: unix.AT_FDCWD, newDir: unix.AT_FDCWD, oldName: n.args[0], newName: n.args[1]}
	if n.nr == plainRename {
		return c, true
	}
	if n.nr != unix.SYS_RENAMEAT && n.nr != unix.SYS_RENAMEAT2 {
		return call{}, false
	}
	// The kernel, too, looks at the low half of a descriptor only.
	c.oldDir, c.oldName = int32(n.args[0]), n.args[1] //nolint:gosec // on purpose
	c.newDir, c.newName = int32(n.args[2]), n.args[3] //nolint:gosec // on purpose
	if n.nr == unix.SYS_RENAMEAT2 {
		c.flags = uint(uint32(n.args[4])) //nolint:gosec // an unsigned int of the kernel's
	}
	return c, c.flags&^unix.RENAME_NOREPLACE == 0
}
