package initproc

import (
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// shield takes the right to write from the mount that this program was
// executed from. A program inside can have a child of init execute the link
// /proc/self/exe (a symlink to it in PATH is enough), and a process that runs
// the host's file leads others to that file. Through a read-only mount nobody
// can change its mode or its content. The mount is init's own copy: the host's
// stays as it is. All layers are in use by now and have mounts of their own.
func (b *builder) shield() error {
	at, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return cannot("find", "this program", err)
	}
	for {
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		err := unix.MountSetattr(unix.AT_FDCWD, at, unix.AT_SYMLINK_NOFOLLOW, &attr)
		if err == nil {
			return nil
		}
		// EINVAL: not the root of a mount; ENOENT: the file was replaced since
		if at == "/" || !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return cannot("close this program's file in", at, err)
		}
		at = path.Dir(at)
	}
}
