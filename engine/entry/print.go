package entry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"sync"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// PrintDir is the print of every directory.
const PrintDir Print = "dir"

var hashBuffers = sync.Pool{New: func() any { b := make([]byte, 128<<10); return &b }}

// PrintOf returns the print of the entry name in dirfd. Regular files are read
// to their end; a FIFO, socket or device is never opened. A name that is not
// there has PrintNone and no error.
func PrintOf(dirfd int, name string) (Print, error) {
	e, err := At(dirfd, name)
	if err != nil {
		return "", err
	}
	if e.Type != File {
		return e.Print(), nil
	}
	fd, _, err := openRegular(dirfd, name)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	p, err := PrintFd(fd)
	if err != nil {
		return "", fault.Wrap(fault.Failed, "read", name, err)
	}
	return p, nil
}

// PrintFd returns the print of an open regular file: of all its bytes, from
// offset 0. What is appended meanwhile is left out, so that a program that
// keeps writing cannot hold us up for ever. The file offset is not used, and
// afterwards where it was. Holes are not read.
func PrintFd(fd int) (Print, error) {
	e, err := OfFd(fd)
	if err != nil {
		return "", err
	}
	buf := hashBuffers.Get().(*[]byte)
	defer hashBuffers.Put(buf)
	h := sha256.New()
	if e.Size >= askForHoles {
		if at, err := unix.Seek(fd, 0, unix.SEEK_CUR); err == nil {
			defer func() { _, _ = unix.Seek(fd, at, unix.SEEK_SET) }()
		}
	}
	data := int64(0) // up to here there is no hole
	for off := int64(0); off < e.Size; {
		if off >= data {
			var hole int64
			if hole, data = nextData(fd, off, e.Size); hole > 0 {
				hashZeros(h, hole)
				off += hole
				continue
			}
		}
		part := (*buf)[:min(int64(len(*buf)), data-off, e.Size-off)]
		n, err := unix.Pread(fd, part, off)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return "", fault.Wrap(fault.Failed, "read", "an open file", err)
		}
		if n == 0 {
			break
		}
		h.Write(part[:n])
		off += int64(n)
	}
	return Print("file:" + hex.EncodeToString(h.Sum(nil))), nil
}

// askForHoles is the size from which a file is asked where its holes are, which
// costs some calls.
const askForHoles = 1 << 20

// nextData looks at a file from off on: so many bytes are a hole, or what
// follows is data up to end.
func nextData(fd int, off, size int64) (hole, end int64) {
	if size < askForHoles {
		return 0, size
	}
	start, err := unix.Seek(fd, off, unix.SEEK_DATA)
	switch {
	case err == unix.ENXIO: // no data any more
		return size - off, size
	case err != nil:
		return 0, size
	case start > off:
		return min(start, size) - off, off
	}
	end, err = unix.Seek(fd, off, unix.SEEK_HOLE)
	if err != nil || end <= off {
		return 0, size
	}
	return 0, end
}

var zeros [64 << 10]byte

func hashZeros(h hash.Hash, n int64) {
	for ; n > 0; n -= int64(len(zeros)) {
		h.Write(zeros[:min(n, int64(len(zeros)))])
	}
}

// PrintBytes returns the print of a regular file with this content.
func PrintBytes(data []byte) Print {
	sum := sha256.Sum256(data)
	return Print("file:" + hex.EncodeToString(sum[:]))
}

// PrintTarget returns the print of a symlink with this target.
func PrintTarget(target string) Print {
	sum := sha256.Sum256([]byte(target))
	return Print("symlink:" + hex.EncodeToString(sum[:]))
}

// Print returns the print of an entry that is not a regular file; for a
// regular file, whose content an Entry does not hold, it is "".
func (e Entry) Print() Print {
	switch e.Type {
	case None, "":
		return PrintNone
	case File:
		return ""
	case Symlink:
		return PrintTarget(e.Target)
	case Char, Block:
		return Print(fmt.Sprintf("%s:%d:%d", e.Type, unix.Major(e.Rdev), unix.Minor(e.Rdev)))
	default:
		return Print(e.Type)
	}
}
