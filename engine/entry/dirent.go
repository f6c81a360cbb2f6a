package entry

import (
	"bytes"
	"encoding/binary"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// Dirent is one name in a directory. Type is what the directory itself says
// ("" when the file system does not say); it costs no stat.
type Dirent struct {
	Name string
	Type Type
}

var direntBuffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// ReadDir returns the names in the open directory fd (not O_PATH), without "."
// and "..", in the order of the file system. It starts at the directory's
// beginning whatever was read before.
func ReadDir(fd int) ([]Dirent, error) {
	if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
		return nil, fault.Wrap(fault.Failed, "list", "a directory", err)
	}
	p := direntBuffers.Get().(*[]byte)
	defer direntBuffers.Put(p)
	var out []Dirent
	for {
		n, err := unix.Getdents(fd, *p)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return out, fault.Wrap(fault.Failed, "list", "a directory", err)
		}
		if n == 0 {
			return out, nil
		}
		out = parseDirents(out, (*p)[:n])
	}
}

// parseDirents reads linux_dirent64 records: ino 8, off 8, reclen 2, type 1, name.
func parseDirents(out []Dirent, buf []byte) []Dirent {
	const head = int(unsafe.Offsetof(unix.Dirent{}.Name))
	for len(buf) >= head {
		reclen := int(binary.NativeEndian.Uint16(buf[16:]))
		if reclen < head || reclen > len(buf) {
			return out
		}
		name := buf[head:reclen]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		ino := binary.NativeEndian.Uint64(buf)
		kind := buf[18]
		buf = buf[reclen:]
		if ino == 0 || string(name) == "." || string(name) == ".." {
			continue
		}
		out = append(out, Dirent{Name: string(name), Type: direntType(kind)})
	}
	return out
}

func direntType(kind byte) Type {
	switch kind {
	case unix.DT_REG:
		return File
	case unix.DT_DIR:
		return Dir
	case unix.DT_LNK:
		return Symlink
	case unix.DT_FIFO:
		return Fifo
	case unix.DT_SOCK:
		return Socket
	case unix.DT_CHR:
		return Char
	case unix.DT_BLK:
		return Block
	default:
		return ""
	}
}
