package entry

import (
	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// Reader reads many regular files into one buffer, with no call that At just
// made for the caller: the caller has seen a regular file of this name a moment
// ago. What took its place since is refused (ErrNotRegular) once it is open;
// O_NONBLOCK keeps a FIFO from holding us up. Not for concurrent use.
type Reader struct{ buf []byte }

// readerKeeps is the largest buffer that is kept for the next file.
const readerKeeps = 1 << 20

// Read returns the content of a regular file of at most limit bytes; a larger
// one is refused with EFBIG. The bytes are good until the next call.
func (r *Reader) Read(dirfd int, name string, limit int64) ([]byte, Entry, error) {
	if err := checkName("open", name); err != nil {
		return nil, Entry{}, err
	}
	fd, err := retryOpenat(dirfd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC)
	if err != nil {
		return nil, Entry{}, fault.Wrap(fault.Failed, "open", name, err)
	}
	defer unix.Close(fd)
	e, err := OfFd(fd)
	if err == nil && e.Type != File {
		err = fault.Wrap(fault.Failed, "open", name, ErrNotRegular)
	}
	if err != nil {
		return nil, Entry{}, err
	}
	if e.Size > limit {
		return nil, e, fault.Wrap(fault.Failed, "read", name, unix.EFBIG)
	}
	// What is appended meanwhile is left out: it is a later moment.
	buf := r.room(int(e.Size))
	n := 0
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, e, fault.Wrap(fault.Failed, "read", name, err)
		}
		if m == 0 {
			break
		}
		n += m
	}
	return buf[:n], e, nil
}

func (r *Reader) room(n int) []byte {
	if n > readerKeeps {
		return make([]byte, n)
	}
	if cap(r.buf) < n {
		r.buf = make([]byte, min(max(2*n, 16<<10), readerKeeps))
	}
	return r.buf[:n]
}
