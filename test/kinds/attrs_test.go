package kinds

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sandbox/internal/testlong"
)

// attributes are stories of entries whose content stays.
func attributes() []one {
	file := func(mode os.FileMode) func(dir string) error {
		return func(dir string) error { return put(dir+"/x", "content of "+filepath.Base(dir)+"\n", mode) }
	}
	folder := func(mode os.FileMode) func(dir string) error {
		return func(dir string) error {
			return errors.Join(os.Mkdir(dir+"/x", 0o700), put(dir+"/x/in", "in "+filepath.Base(dir)+"\n", 0o644), os.Chmod(dir+"/x", mode))
		}
	}
	chmod := func(mode uint32) func(dir string) error { // of the bits that os.FileMode has elsewhere, too
		return func(dir string) error { return unix.Chmod(dir+"/x", mode) }
	}
	set := func(name, value string) func(dir string) error {
		return func(dir string) error { return unix.Setxattr(dir+"/x", name, []byte(value), 0) }
	}
	both := func(steps ...func(dir string) error) func(dir string) error {
		return func(dir string) error {
			for _, s := range steps {
				if err := s(dir); err != nil {
					return err
				}
			}
			return nil
		}
	}
	rewrite := func(dir string) error {
		text, err := os.ReadFile(dir + "/x")
		return errors.Join(err, os.WriteFile(dir+"/x", text, 0o600)) // the mode of a file that is there stays
	}
	changed := []string{"attributes x"}
	acl := access(uint32(os.Getuid())) //nolint:gosec // no negative ids
	return []one{
		{name: "exec bit", host: file(0o644), box: chmod(0o755), want: changed},
		{name: "no mode at all", host: file(0o600), box: chmod(0), want: changed, mode: "P"},
		{name: "mode there and back", host: file(0o644), box: both(chmod(0o600), chmod(0o644))},
		{name: "touched", host: file(0o644), box: func(dir string) error { return os.Chtimes(dir+"/x", unixTime, unixTime) }},
		{name: "rewritten", host: file(0o640), box: rewrite},
		{name: "attribute", host: file(0o644), box: set("user.note", "new\x00\xff"), want: changed},
		{name: "empty attribute", host: file(0o644), box: set("user.empty", ""), want: changed},
		{name: "attribute changed", host: both(file(0o644), set("user.note", "old")), box: set("user.note", "new"), want: changed},
		{
			name: "attribute removed", host: both(file(0o644), set("user.note", "old")),
			box: func(dir string) error { return unix.Removexattr(dir+"/x", "user.note") }, want: changed,
		},
		{name: "content and attribute stay", host: both(file(0o644), set("user.note", "old")), box: rewrite},
		{name: "access list", host: file(0o640), box: set("system.posix_acl_access", acl), want: changed},
		{
			name: "access list removed", host: both(file(0o640), set("system.posix_acl_access", acl)),
			box: func(dir string) error { return unix.Removexattr(dir+"/x", "system.posix_acl_access") }, want: changed,
		},
		{name: "overlay attribute of the host", host: both(folder(0o755), foreign), box: both(chmod(0o700), chmod(0o755))},
		{name: "directory mode", host: folder(0o755), box: chmod(0o711), want: changed},
		{name: "directory attribute", host: folder(0o755), box: set("user.note", "of a directory"), want: changed},
		{name: "directory touched", host: folder(0o755), box: both(chmod(0o700), chmod(0o755))},
		{name: "setgid directory", host: folder(0o755), box: chmod(0o2755), want: changed},
		{name: "sticky directory", host: folder(0o755), box: chmod(0o1777), want: changed},
		{name: "setuid", host: file(0o755), box: chmod(0o4755), want: changed, unasked: []string{"x"}},
		{name: "setgid", host: file(0o755), box: chmod(0o2755), want: changed, unasked: []string{"x"}},
		{
			name: "owner", host: file(0o644), box: func(dir string) error { return os.Chown(dir+"/x", 1234, 1235) },
			want: changed, unasked: []string{"x"}, mode: "P",
		},
		{
			name: "owner of a directory", host: folder(0o755), box: func(dir string) error { return os.Lchown(dir+"/x", 1234, -1) },
			want: changed, unasked: []string{"x"}, mode: "P",
		},
		{
			name: "capability", host: file(0o755), box: set("security.capability", capability),
			want: changed, unasked: []string{"x"}, mode: "P",
		},
		{
			name: "read-only directory",
			host: both(folder(0o755), func(dir string) error { return put(dir+"/x/gone", "gone\n", 0o644) }, chmod(0o555)),
			box: both(chmod(0o755), func(dir string) error {
				return errors.Join(put(dir+"/x/in", "changed\n", 0o644), put(dir+"/x/new", "new\n", 0o644), os.Remove(dir+"/x/gone"))
			}, chmod(0o555)),
			want: []string{"modified x/in", "added x/new", "deleted x/gone"},
		},
		{
			name: "directory becomes read-only", host: folder(0o755),
			box:  both(func(dir string) error { return put(dir+"/x/in", "changed\n", 0o644) }, chmod(0o500)),
			want: []string{"attributes x", "modified x/in"},
		},
		{
			name: "new read-only directory", host: func(string) error { return nil },
			box:  folder(0o555),
			want: []string{"added x", "added x/in"},
		},
		{
			name: "read-only directory removed", host: folder(0o555),
			box:  both(chmod(0o755), func(dir string) error { return os.RemoveAll(dir + "/x") }),
			want: []string{"deleted x", "deleted x/in"},
		},
		{
			name: "sparse", host: func(string) error { return nil },
			box:  func(dir string) error { return sparse(dir+"/x", "made inside") },
			want: []string{"added x"},
		},
		{
			name: "sparse on the host", host: func(dir string) error { return sparse(dir+"/x", "made outside") },
			box: func(dir string) error { // and the copy-up keeps the holes
				f, err := os.OpenFile(dir+"/x", os.O_WRONLY, 0)
				if err != nil {
					return err
				}
				_, err = f.WriteAt([]byte("changed"), sparseSize*3/4)
				return errors.Join(err, f.Close())
			},
			want: []string{"modified x"},
		},
	}
}

// put writes a file with exactly this mode.
func put(path, text string, mode os.FileMode) error {
	return errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode))
}

// foreign gives a directory of the host the mark of another overlay.
func foreign(dir string) error {
	if mode() == "P" {
		return unix.Setxattr(dir+"/x", "trusted.overlay.opaque", []byte("y"), 0)
	}
	return unix.Setxattr(dir+"/x", "user.overlay.opaque", []byte("y"), 0)
}

// sparseSize is the size of a file that holds a few bytes. A gigabyte is hashed
// in a second, some thirty times.
var sparseSize = int64(testlong.Pick(16<<20, 1<<30))

// sparse makes such a file.
func sparse(path, text string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), sparseSize/2)
	return errors.Join(err, f.Truncate(sparseSize), f.Close())
}

// access is a POSIX access list that lets one more user read.
func access(uid uint32) string {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range [][3]uint32{{1, 6, ^uint32(0)}, {2, 4, uid}, {4, 4, ^uint32(0)}, {16, 4, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, uint16(e[0])) //nolint:gosec // small
		b = binary.LittleEndian.AppendUint16(b, uint16(e[1])) //nolint:gosec // small
		b = binary.LittleEndian.AppendUint32(b, e[2])
	}
	return string(b)
}

// capability is CAP_NET_RAW, permitted and effective.
var capability = func() string {
	b := binary.LittleEndian.AppendUint32(nil, 0x02000001)
	for _, n := range []uint32{1 << 13, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return string(b)
}()
