package entry

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// Xattrs returns the extended attributes of the entry name in dirfd, following
// no symlink; nil when there are none or the file system has none. Left out is
// what no copy may carry:
//
//   - user.overlay.* and trusted.overlay.*, which steer overlayfs;
//   - the labels that the machine's own security modules keep (SELinux, Smack,
//     AppArmor, IMA, EVM), which the kernel makes anew on a copy-up.
//
// POSIX ACLs (system.posix_acl_*) and file capabilities (security.capability)
// are in it.
func Xattrs(dirfd int, name string) (map[string][]byte, error) {
	if err := checkName("read attributes of", name); err != nil {
		return nil, err
	}
	// No system call before Linux 6.13 takes (dirfd, name) here. The magic
	// link is one of our own descriptors and the l-calls do not follow name.
	path := "/proc/self/fd/" + strconv.Itoa(dirfd) + "/" + name
	return collectXattrs(name,
		func(b []byte) (int, error) { return unix.Llistxattr(path, b) },
		func(key string, b []byte) (int, error) { return unix.Lgetxattr(path, key, b) })
}

// XattrsFd is Xattrs for an open file or directory (not O_PATH).
func XattrsFd(fd int) (map[string][]byte, error) {
	return collectXattrs("an open file",
		func(b []byte) (int, error) { return unix.Flistxattr(fd, b) },
		func(key string, b []byte) (int, error) { return unix.Fgetxattr(fd, key, b) })
}

// KeptXattr reports whether Xattrs gives attributes of this name.
func KeptXattr(key string) bool {
	switch {
	case strings.HasPrefix(key, "user.overlay."), strings.HasPrefix(key, "trusted.overlay."):
		return false
	case key == "security.selinux", key == "security.apparmor", key == "security.ima", key == "security.evm":
		return false
	case strings.HasPrefix(key, "security.SMACK64"):
		return false
	}
	return true
}

func collectXattrs(what string, list func([]byte) (int, error), get func(string, []byte) (int, error)) (map[string][]byte, error) {
	var stack [512]byte
	names, err := growing(stack[:], list)
	if err == unix.EOPNOTSUPP {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "read attributes of", what, err)
	}
	var out map[string][]byte
	for len(names) > 0 {
		key, rest, _ := bytes.Cut(names, []byte{0})
		names = rest
		if len(key) == 0 || !KeptXattr(string(key)) {
			continue
		}
		k := string(key)
		value, err := growing(make([]byte, 256), func(b []byte) (int, error) { return get(k, b) })
		if err == unix.ENODATA || err == unix.EOPNOTSUPP {
			continue // gone since it was listed, or not for us
		}
		if err != nil {
			return nil, fault.Wrap(fault.Failed, "read attribute "+k+" of", what, err)
		}
		if out == nil {
			out = make(map[string][]byte)
		}
		out[k] = bytes.Clone(value)
		if out[k] == nil {
			out[k] = []byte{}
		}
	}
	return out, nil
}

// growing calls read with larger and larger buffers until the value fits.
func growing(buf []byte, read func([]byte) (int, error)) ([]byte, error) {
	for {
		n, err := read(buf)
		switch {
		case err == unix.EINTR:
		case err == unix.ERANGE && len(buf) < 1<<20:
			buf = make([]byte, len(buf)*8)
		case err != nil:
			return nil, err
		default:
			return buf[:n], nil
		}
	}
}
