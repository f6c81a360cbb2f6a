package changes

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// markName stands behind the overlay's prefix, so a mark is one of overlayfs's
// private attributes: programs inside can neither see nor set it.
const markName = "sandbox.accepted"

const (
	// maxWindows bounds the size of a mark; the oldest ones go first.
	maxWindows = 64
	// clockStep is how far the clock of a file system may lag behind ours: a
	// tick. Windows this close are one.
	clockStep = int64(20 * time.Millisecond)
	// maxSpan bounds one window. An operation that a crash cut in two would
	// else cover what the user did between its halves.
	maxSpan = int64(time.Minute)
)

// MarkAccepted writes on an upper entry that the host's state of a moment
// (a ctime there, in nanoseconds since 1970) was made by an accept or an undo,
// not by the user. Without it the host file that an accept wrote would be newer
// than the copy-up: the next change inside would look like a conflict, and a
// deletion inside an opaque directory could not be told from a file that the
// host made later.
//
// It is called after the host was written, for each upper regular file and
// directory whose host entry was written, and for the upper directory that
// each of them lies in (also when the upper has only a whiteout, or nothing,
// for the entry): hostCtimeNs is the ctime of what is on the host now.
// Symlinks and special files cannot carry a mark and need none: nil is returned.
//
// upperPath is an absolute path whose directory part holds no symlink, such as
// "/proc/self/fd/N/name" or Change.Upper.
func MarkAccepted(upperPath, prefix string, hostCtimeNs int64) error {
	return MarkAcceptedSpan(upperPath, prefix, hostCtimeNs, hostCtimeNs)
}

// MarkAcceptedSpan is MarkAccepted for all moments between two. On a directory
// it should say from when to when the operation wrote: a deleted directory
// takes the marks of what lay below along, and then the parent's must do.
func MarkAcceptedSpan(upperPath, prefix string, fromNs, toNs int64) error {
	var st unix.Stat_t
	if err := unix.Lstat(upperPath, &st); err != nil {
		return fault.Wrap(fault.Failed, "mark as accepted", upperPath, err)
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return nil
	}
	w := window{max(fromNs, toNs-maxSpan), toNs}
	m := readMarks(upperPath, prefix)
	if m.covers(w.from, 0) && m.covers(w.to, 0) {
		return nil
	}
	value := m.with(w).String()
	if err := unix.Lsetxattr(upperPath, prefix+markName, []byte(value), 0); err != nil {
		return fault.Wrap(fault.Failed, "mark as accepted", upperPath, err)
	}
	return nil
}

// window is a span of time in which we wrote to the host, both ends included.
type window struct{ from, to int64 }

// marks are the windows of one upper entry, oldest first.
type marks []window

func (m marks) covers(ns, slack int64) bool {
	return slices.ContainsFunc(m, func(w window) bool { return w.from-slack <= ns && ns <= w.to+slack })
}

// last is the end of the newest window, 0 when there is none.
func (m marks) last() int64 {
	end := int64(0)
	for _, w := range m {
		end = max(end, w.to)
	}
	return end
}

// with adds a window and joins those that touch.
func (m marks) with(w window) marks {
	all := append(slices.Clone(m), w)
	slices.SortFunc(all, func(a, b window) int { return cmp.Compare(a.from, b.from) })
	out := all[:1]
	for _, w := range all[1:] {
		if last := &out[len(out)-1]; w.from <= last.to+clockStep {
			last.to = max(last.to, w.to)
		} else {
			out = append(out, w)
		}
	}
	return out[max(0, len(out)-maxWindows):]
}

// String is the value of the attribute: "start+length" in base 36, comma between.
func (m marks) String() string {
	parts := make([]string, len(m))
	for i, w := range m {
		parts[i] = strconv.FormatInt(w.from, 36) + "+" + strconv.FormatInt(w.to-w.from, 36)
	}
	return strings.Join(parts, ",")
}

// parseMarks drops what it cannot read, and a time in the future, which would
// hide every later change of the host.
func parseMarks(value []byte) marks {
	var out marks
	limit := time.Now().Add(time.Minute).UnixNano()
	for part := range strings.SplitSeq(string(value), ",") {
		a, b, _ := strings.Cut(part, "+")
		from, errA := strconv.ParseInt(a, 36, 64)
		length, errB := strconv.ParseInt(b, 36, 64)
		if errA == nil && errB == nil && from >= 0 && from <= limit && length >= 0 && length <= limit-from {
			out = append(out, window{from, from + length})
		}
	}
	return out
}

func readMarks(upperPath, prefix string) marks {
	var buf [4096]byte
	n, err := unix.Lgetxattr(upperPath, prefix+markName, buf[:])
	if err != nil {
		return nil
	}
	return parseMarks(buf[:n])
}
