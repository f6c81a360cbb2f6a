package changes

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// markName stands behind the overlay's prefix, so a mark is one of overlayfs's
// private attributes: programs inside can neither see nor set it.
const markName = "sandbox.accepted"

// MarkAccepted writes on an upper entry up to which moment (ctime on the host,
// in nanoseconds since 1970) the host's state came from the sandbox itself.
// Without it the host file that an accept wrote would be newer than the
// copy-up: the next change inside would look like a conflict, and a deletion
// inside an opaque directory could not be told from a file that the host made.
//
// Accept calls it, after the host was written, for each upper regular file and
// directory that it took, and for the upper directory that each of them lies in:
// hostCtimeNs is the ctime of what now is on the host (the largest one for a
// directory). A mark only grows. Symlinks and special files cannot carry one
// and need none: nil is returned.
//
// upperPath is an absolute path whose directory part holds no symlink, such as
// "/proc/self/fd/N/name" or Change.Upper.
func MarkAccepted(upperPath, prefix string, hostCtimeNs int64) error {
	var st unix.Stat_t
	if err := unix.Lstat(upperPath, &st); err != nil {
		return fault.Wrap(fault.Failed, "mark as accepted", upperPath, err)
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return nil
	}
	if readMark(upperPath, prefix) >= hostCtimeNs {
		return nil
	}
	value := strconv.FormatInt(hostCtimeNs, 10)
	if err := unix.Lsetxattr(upperPath, prefix+markName, []byte(value), 0); err != nil {
		return fault.Wrap(fault.Failed, "mark as accepted", upperPath, err)
	}
	return nil
}

// readMark returns the moment of MarkAccepted, 0 when there is none. A time in
// the future is no mark: it would hide every later change of the host.
func readMark(upperPath, prefix string) int64 {
	var buf [32]byte
	n, err := unix.Lgetxattr(upperPath, prefix+markName, buf[:])
	if err != nil {
		return 0
	}
	return parseMark(buf[:n])
}

func parseMark(value []byte) int64 {
	ns, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || ns < 0 || ns > time.Now().Add(time.Minute).UnixNano() {
		return 0
	}
	return ns
}
