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

// bornAt is the moment of the copy-up. On a file system without btime the
// ctime stands in, which misses conflicts with files that changed again later.
func bornAt(up entry.Entry) int64 {
	if up.BtimeNs == 0 {
		return up.CtimeNs
	}
	return up.BtimeNs
}

// deletion is what is known about a deletion in the sandbox.
type deletion struct {
	// since is a moment at which the host's entry was surely not deleted yet.
	since int64
	// marks are the times at which we wrote there ourselves.
	marks marks
}

// overtaken reports whether the host's entry may be newer than its deletion.
//
// A directory's own ctime moves with every entry that comes or goes, so a
// directory is never the conflict itself; the entries below it are.
func (d deletion) overtaken(lo entry.Entry) bool {
	return lo.Type != entry.Dir && lo.CtimeNs > d.since && !d.marks.covers(lo.CtimeNs, clockStep)
}

// whiteoutSince bounds when a whiteout was made. The kernel links one inode to
// all whiteouts of a mount, so its btime is that of the first deletion since
// the sandbox was started and its ctime that of the last. The earlier one is
// taken: a host file that changed in between is called a conflict, because to
// delete the user's newest edit in silence would be worse than to ask.
func whiteoutSince(w entry.Entry) int64 { return bornAt(w) }

// fdPath names an entry of an open directory for the calls that take no
// descriptor. It follows no link when the call does not follow name.
func fdPath(dirfd int, name string) string {
	return "/proc/self/fd/" + strconv.Itoa(dirfd) + "/" + name
}
