package rootfs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// CopyContent makes dst, an empty regular file, hold what src holds from
// offset 0: as a reflink where the file system can, else by copying in the
// kernel, and holes stay holes. What is appended to src meanwhile is left out,
// so that a program that keeps writing cannot hold the copy up for ever. The
// offset of src is moved.
func CopyContent(dst, src *os.File) error {
	if unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) == nil {
		return nil
	}
	info, err := src.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	for pos := int64(0); pos < size; {
		start, err := unix.Seek(int(src.Fd()), pos, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) || err == nil && start >= size { // no data after pos
			break
		}
		if err != nil { // no holes known here: all is data
			return copyRange(dst, src, pos, size)
		}
		end, err := unix.Seek(int(src.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return copyRange(dst, src, start, size)
		}
		end = min(end, size)
		if err := copyRange(dst, src, start, end); err != nil {
			return err
		}
		pos = end
	}
	if info, err = src.Stat(); err != nil { // it may be shorter by now
		return err
	}
	return dst.Truncate(min(size, info.Size()))
}

func copyRange(dst, src *os.File, from, to int64) error {
	for from < to {
		in, out := from, from
		n, err := unix.CopyFileRange(int(src.Fd()), &in, int(dst.Fd()), &out, int(min(to-from, 1<<30)), 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			// Not between these two file systems, or src became shorter.
			_, err := io.Copy(io.NewOffsetWriter(dst, from), io.NewSectionReader(src, from, to-from))
			return err
		}
		from += int64(n)
	}
	return nil
}
