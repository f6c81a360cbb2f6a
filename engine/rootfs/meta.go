package rootfs

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/view"
)

// Capability is the xattr that gives a program rights of root.
const Capability = "security.capability"

// Meta reads mode, owner, mtime and the xattrs that travel with an entry.
func (a At) Meta() (view.Meta, error) {
	e, err := a.Stat()
	if err != nil {
		return view.Meta{}, err
	}
	return a.MetaOf(e)
}

// MetaOf is Meta of an entry that was looked at already.
func (a At) MetaOf(e entry.Entry) (view.Meta, error) {
	m := view.Meta{Mode: e.Mode, UID: e.UID, GID: e.GID, MtimeNs: e.MtimeNs}
	if e.Type == entry.Symlink || e.Type == entry.None {
		return m, nil
	}
	all, err := entry.Xattrs(a.Dir, a.Name)
	if err != nil && !absent(err) {
		return m, err
	}
	for name, value := range all {
		if travels(name) {
			if m.Xattrs == nil {
				m.Xattrs = map[string][]byte{}
			}
			m.Xattrs[name] = value
		}
	}
	return m, nil
}

// SetMeta gives an entry exactly this metadata. What the caller may not give
// (another owner, an xattr of a kind that is not allowed here) is left out,
// and with the owner its setuid and setgid bits. MtimeNs 0 leaves the time alone.
func (a At) SetMeta(m view.Meta) error {
	e, err := a.Stat()
	if err != nil {
		return err
	}
	if e.Type == entry.None {
		return a.wrap("set attributes", unix.ENOENT)
	}
	a.chown(e, m)
	if e.Type != entry.Symlink {
		if err := a.setXattrs(m.Xattrs); err != nil {
			return err
		}
		if err := a.chmod(m); err != nil {
			return err
		}
	}
	if m.MtimeNs == 0 {
		return nil
	}
	return a.SetMtime(m.MtimeNs)
}

// SetMtime sets the time of last modification.
func (a At) SetMtime(ns int64) error {
	ts := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(ns)}
	return a.wrap("set the time", again(func() error {
		return unix.UtimesNanoAt(a.Dir, a.Name, ts, unix.AT_SYMLINK_NOFOLLOW)
	}))
}

func (a At) chown(e entry.Entry, m view.Meta) {
	if e.UID == m.UID && e.GID == m.GID {
		return
	}
	if unix.Fchownat(a.Dir, a.Name, int(m.UID), int(m.GID), unix.AT_SYMLINK_NOFOLLOW) == nil {
		return
	}
	// A user may not give files away, but may give them to his own groups.
	_ = unix.Fchownat(a.Dir, a.Name, -1, int(m.GID), unix.AT_SYMLINK_NOFOLLOW)
}

// chmod looks once more: the bits of an owner that could not be given are not
// given to another one.
func (a At) chmod(m view.Meta) error {
	e, err := a.Stat()
	if err != nil {
		return err
	}
	mode := m.Mode & 0o7777
	if e.UID != m.UID {
		mode &^= unix.S_ISUID
	}
	if e.GID != m.GID {
		mode &^= unix.S_ISGID
	}
	if e.Mode == mode {
		return nil
	}
	return a.Chmod(mode)
}

// Chmod sets the mode of anything but a symlink, which is refused.
func (a At) Chmod(mode uint32) error {
	err := again(func() error { return unix.Fchmodat(a.Dir, a.Name, mode, unix.AT_SYMLINK_NOFOLLOW) })
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.ENOSYS) {
		return a.wrap("chmod", err)
	}
	// A kernel before 6.6 has no fchmodat2. The magic link leads to the entry
	// itself, which is looked at first: chmod of a symlink is refused anyway.
	fd, err := unix.Openat(a.Dir, a.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return a.wrap("chmod", err)
	}
	defer func() { _ = unix.Close(fd) }()
	return a.wrap("chmod", unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode))
}

// travels says whether an xattr belongs to the content. Overlay's own marks
// never do, and the labels of a security module are made by the machine.
func travels(name string) bool {
	if !entry.KeptXattr(name) {
		return false
	}
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "trusted.") || name == Capability ||
		name == "system.posix_acl_access" || name == "system.posix_acl_default"
}

// setXattrs removes what is not wanted (an ACL that the directory handed down)
// and sets the rest.
func (a At) setXattrs(want map[string][]byte) error {
	have, err := a.Meta()
	if err != nil {
		return err
	}
	if len(want) == 0 && len(have.Xattrs) == 0 {
		return nil
	}
	// The magic link is our own descriptor; the l-calls do not follow the name.
	path := "/proc/self/fd/" + strconv.Itoa(a.Dir) + "/" + a.Name
	for name := range have.Xattrs {
		if _, keep := want[name]; !keep {
			if err := unix.Lremovexattr(path, name); err != nil && !absent(err) {
				return a.wrap("remove attribute "+name, err)
			}
		}
	}
	for name, value := range want {
		if !travels(name) || (have.Xattrs[name] != nil && string(have.Xattrs[name]) == string(value)) {
			continue
		}
		if err := unix.Lsetxattr(path, name, value, 0); err != nil && !absent(err) {
			return a.wrap("set attribute "+name, err)
		}
	}
	return nil
}

// absent are the answers that mean "there is no such thing here, or not for you".
func absent(err error) bool {
	for _, e := range []error{unix.ENODATA, unix.ENOTSUP, unix.EPERM, unix.EACCES, unix.EINVAL, unix.EOVERFLOW, unix.ENOSYS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
