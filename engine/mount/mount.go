// Package mount makes mounts by descriptor: every source, target and layer is
// an open file, so any byte may stand in a path and nothing is looked up twice.
//
// It is not for the host's mount namespace: the callers are in a private one.
// The system calls are described in fsopen(2), fsconfig(2), fsmount(2),
// open_tree(2), move_mount(2) and mount_setattr(2).
package mount

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Error says which mount failed at which step. It unwraps to the errno.
type Error struct {
	Op     string // the step, e.g. "fsconfig upperdir"
	Type   string // file system type, or "bind"
	Target string // what it was for, a path in the sandbox; may be empty
	Log    string // what the kernel said in the context's log, often empty
	Err    error
}

func (e *Error) Error() string {
	s := "mount " + e.Type
	if e.Target != "" {
		s += " for " + e.Target
	}
	s += ": " + e.Op + ": " + e.Err.Error()
	if e.Log != "" {
		s += " (" + e.Log + ")"
	}
	return s
}

// Unwrap returns the errno.
func (e *Error) Unwrap() error { return e.Err }

// Context is a file system being configured, see fsopen(2).
type Context struct {
	fd     int
	fstype string
	target string
}

// Open starts a mount of a file system type. target is only for error texts.
func Open(fstype, target string) (*Context, error) {
	fd, err := unix.Fsopen(fstype, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, &Error{Op: "fsopen", Type: fstype, Target: target, Err: err}
	}
	return &Context{fd, fstype, target}, nil
}

// Close gives the context back.
func (c *Context) Close() { _ = unix.Close(c.fd) }

func (c *Context) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	var log [512]byte
	n, _ := unix.Read(c.fd, log[:])
	return &Error{Op: op, Type: c.fstype, Target: c.target, Log: strings.TrimSpace(string(log[:max(n, 0)])), Err: err}
}

// String sets "key=value".
func (c *Context) String(key, value string) error {
	return c.fail("fsconfig "+key, unix.FsconfigSetString(c.fd, key, value))
}

// Flag sets "key".
func (c *Context) Flag(key string) error {
	return c.fail("fsconfig "+key, unix.FsconfigSetFlag(c.fd, key))
}

// Layer sets an option of overlayfs to a directory. Kernels before 6.13 take
// no descriptors here; for them the path /proc/self/fd/N stands in, which
// survives any name.
func (c *Context) Layer(key string, dirfd int) error {
	err := unix.FsconfigSetFd(c.fd, key, dirfd)
	if err == nil {
		return nil
	}
	return c.fail("fsconfig "+key, unix.FsconfigSetString(c.fd, key, fmt.Sprintf("/proc/self/fd/%d", dirfd)))
}

// Make creates the file system and returns a descriptor of the detached mount.
func (c *Context) Make(attr int) (int, error) {
	if err := unix.FsconfigCreate(c.fd); err != nil {
		return -1, c.fail("create", err)
	}
	fd, err := unix.Fsmount(c.fd, unix.FSMOUNT_CLOEXEC, attr)
	return fd, c.fail("fsmount", err)
}

// Attrs are mount attributes, unix.MOUNT_ATTR_*.
type Attrs = int

// FS makes a detached mount of a file system with options "key=value" or "key".
func FS(fstype, target string, attr Attrs, opts ...string) (int, error) {
	c, err := Open(fstype, target)
	if err != nil {
		return -1, err
	}
	defer c.Close()
	for _, o := range opts {
		if k, v, ok := strings.Cut(o, "="); ok {
			err = c.String(k, v)
		} else {
			err = c.Flag(k)
		}
		if err != nil {
			return -1, err
		}
	}
	return c.Make(attr)
}

// Bind clones what is mounted at (dirfd, path) into a detached mount, with
// everything below it when recursive. attr is set on all of it.
func Bind(dirfd int, path string, recursive bool, attr Attrs) (int, error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_SYMLINK_NOFOLLOW)
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	fd, err := unix.OpenTree(dirfd, path, flags)
	if err != nil {
		return -1, &Error{Op: "open_tree", Type: "bind", Target: path, Err: err}
	}
	if attr == 0 {
		return fd, nil
	}
	if err := SetAttr(fd, recursive, attr); err != nil {
		_ = unix.Close(fd)
		return -1, &Error{Op: "mount_setattr", Type: "bind", Target: path, Err: err}
	}
	return fd, nil
}

// SetAttr sets attributes on a mount and, when recursive, on all below it.
func SetAttr(fd int, recursive bool, attr Attrs) error {
	flags := uint(unix.AT_EMPTY_PATH)
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	return unix.MountSetattr(fd, "", flags, &unix.MountAttr{Attr_set: uint64(attr)})
}

// Attach puts a detached mount onto (dirfd, rel) and closes its descriptor.
func Attach(fd, dirfd int, rel string) error {
	err := AttachKeep(fd, dirfd, rel)
	_ = unix.Close(fd)
	return err
}

// AttachKeep is Attach that leaves the descriptor open.
func AttachKeep(fd, dirfd int, rel string) error {
	flags := unix.MOVE_MOUNT_F_EMPTY_PATH
	if rel == "" {
		flags |= unix.MOVE_MOUNT_T_EMPTY_PATH
	}
	if err := unix.MoveMount(fd, "", dirfd, rel, flags); err != nil {
		return &Error{Op: "move_mount", Type: "mount", Target: rel, Err: err}
	}
	return nil
}

// Reconfigure makes the kernel drop all unused cached names of the file system
// that dirfd is on, so that changes made to its lower layer show
// (reconfigure_super ends in shrink_dcache_sb). The caller needs CAP_SYS_ADMIN
// in the user namespace that mounted it.
func Reconfigure(dirfd int) error {
	fd, err := unix.Fspick(dirfd, "", unix.FSPICK_CLOEXEC|unix.FSPICK_EMPTY_PATH)
	if err != nil {
		return &Error{Op: "fspick", Type: "overlay", Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.FsconfigReconfigure(fd); err != nil {
		return &Error{Op: "reconfigure", Type: "overlay", Err: err}
	}
	return nil
}
