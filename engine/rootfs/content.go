package rootfs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// CopyContent makes dst, an empty regular file, hold what src holds from
// offset 0: as a reflink where the file system can, else by copying in the
// kernel, and holes stay holes. The offset of src is moved.
func CopyContent(dst, src *os.File) error {
	if unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) == nil {
		return nil
	}
	var pos int64
	for {
		start, err := unix.Seek(int(src.Fd()), pos, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) { // no data after pos
			break
		}
		if err != nil { // no holes known here: all is data
			return copyRest(dst, src, pos)
		}
		end, err := unix.Seek(int(src.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return copyRest(dst, src, start)
		}
		if err := copyRange(dst, src, start, end); err != nil {
			return err
		}
		pos = end
	}
	info, err := src.Stat()
	if err != nil {
		return err
	}
	return dst.Truncate(max(info.Size(), pos))
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

func copyRest(dst, src *os.File, from int64) error {
	_, err := io.Copy(io.NewOffsetWriter(dst, from), io.NewSectionReader(src, from, 1<<62-from))
	return err
}
