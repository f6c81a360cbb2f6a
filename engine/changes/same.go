package changes

import (
	"strconv"

	"sandbox/engine/entry"
)

// sameAttributes compares mode, owner and xattrs of two entries of one type.
func (s *scan) sameAttributes(d *dir, name string, up, lo entry.Entry) bool {
	if up.Type != entry.Symlink && up.Mode != lo.Mode {
		return false
	}
	if !s.tree.sameOwner(up, lo) {
		return false
	}
	a, errA := entry.Xattrs(d.upper, name)
	b, errB := entry.Xattrs(d.lower, name)
	return errA != nil || errB != nil || sameXattrs(a, b)
}

// sameDirXattrs compares the xattrs of an upper directory, which were read,
// with the host's. What cannot be read is no difference.
func (s *scan) sameDirXattrs(d *dir, name string, up dirAttrs) bool {
	lo, err := entry.Xattrs(d.lower, name)
	return err != nil || sameXattrs(up.xattrs, lo)
}

// hostIsNewer is the rule for conflicts: the host's entry changed after it was
// copied up or made in the sandbox (the upper's btime), and not by an accept.
// It is asked only when the contents differ.
func (s *scan) hostIsNewer(upperPath string, up, lo entry.Entry) bool {
	return lo.CtimeNs > bornAt(up) && lo.CtimeNs > readMark(upperPath, s.tree.Xattr)
}

// bornAt is the moment of the copy-up. On a file system without btime the
// ctime stands in, which misses conflicts with files that changed again later.
func bornAt(up entry.Entry) int64 {
	if up.BtimeNs == 0 {
		return up.CtimeNs
	}
	return up.BtimeNs
}

// whiteoutTime is the latest moment at which a whiteout can have been made.
// The kernel links one inode to all whiteouts of a mount, so its btime is that
// of the first one and its ctime that of the last. But the upper directory
// changes when a name comes into it. Its mtime is the better bound, except when
// a program set it back (tar does): then it is older than the first whiteout.
func whiteoutTime(w, parent entry.Entry) int64 {
	t := min(w.CtimeNs, parent.CtimeNs)
	if parent.MtimeNs >= w.BtimeNs {
		t = min(t, parent.MtimeNs)
	}
	return t
}

// fdPath names an entry of an open directory for the calls that take no
// descriptor. It follows no link when the call does not follow name.
func fdPath(dirfd int, name string) string {
	return "/proc/self/fd/" + strconv.Itoa(dirfd) + "/" + name
}
