package mountplan

import (
	"bytes"
	"os"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Real is the machine that the process runs on.
type Real struct{}

// Mounts reads the mount table of the calling process.
func (Real) Mounts() ([]*mountinfo.Info, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return mountinfo.GetMountsFromReader(bytes.NewReader(b), nil)
}

// Lstat implements Host.
func (Real) Lstat(path string) (Stat, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return Stat{}, err
	}
	t := Other
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		t = File
	case unix.S_IFDIR:
		t = Dir
	case unix.S_IFLNK:
		t = Link
	}
	return Stat{Type: t, Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid, Size: st.Size}, nil
}

// ReadDir implements Host.
func (Real) ReadDir(path string) ([]Entry, error) {
	ents, err := os.ReadDir(path)
	out := make([]Entry, len(ents))
	for i, e := range ents {
		out[i].Name = e.Name()
		switch e.Type() {
		case 0:
			out[i].Type = File
		case os.ModeDir:
			out[i].Type = Dir
		case os.ModeSymlink:
			out[i].Type = Link
		}
	}
	return out, err
}

// Readlink implements Host.
func (Real) Readlink(path string) (string, error) { return os.Readlink(path) }

// May implements Host. access(2) drops the capabilities of a process whose
// real user is not root, which is what makes the answer true in a user
// namespace as well.
func (Real) May(path string, mode uint32) bool { return unix.Access(path, mode) == nil }
