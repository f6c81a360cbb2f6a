package keeper

import (
	"bytes"
	"io"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/engine/entry"
	"sandbox/engine/gitdir"
)

// read takes the fingerprint of the host's file, and its content when it is a
// text of which two versions could be merged. It is not valid when somebody
// wrote to the file meanwhile.
func (c *capture) read(dirfd int, name string, r *base.Record) (content []byte, ok bool) {
	if r.Host.Size > maxPrint || r.Deleted && r.Host.Size > maxDeleted {
		return nil, true // its size and times must do
	}
	f, e, err := entry.OpenFile(dirfd, name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	fd := int(f.Fd())
	if r.Host.Size > base.MaxContent {
		r.Print, err = entry.PrintFd(fd)
	} else if content, err = readAll(fd, &c.buf[0], e.Size); err == nil {
		r.Print = entry.PrintBytes(content)
	}
	if err != nil {
		return nil, false
	}
	after, err := entry.OfFd(fd)
	if err != nil || after.CtimeNs != e.CtimeNs || after.Size != e.Size || !r.SameHost(e) {
		return nil, false
	}
	if content != nil {
		// A program that has the file mapped writes without changing its times.
		again, err := readAll(fd, &c.buf[1], e.Size)
		if err != nil || !bytes.Equal(content, again) {
			return nil, false
		}
	}
	if r.Deleted || (bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0 && !gitdir.IsIndex(content)) {
		content = nil // nothing to merge with
	}
	return content, true
}

// readAll reads size bytes, or less when there is less, into a buffer that is
// used again.
func readAll(fd int, buf *[]byte, size int64) ([]byte, error) {
	if int64(cap(*buf)) < size {
		*buf = make([]byte, size)
	}
	data := (*buf)[:size]
	for done := 0; done < len(data); {
		n, err := unix.Pread(fd, data[done:], int64(done))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		done += n
	}
	return data, nil
}

// sameFile reports whether an upper file holds what the host's holds.
func sameFile(updir int, upname string, up entry.Entry, dirfd int, name string, lo entry.Entry) bool {
	if up.Size != lo.Size || lo.Size > maxPrint {
		return false
	}
	a, err := entry.PrintOf(updir, upname)
	if err != nil {
		return false
	}
	b, err := entry.PrintOf(dirfd, name)
	return err == nil && a == b
}
