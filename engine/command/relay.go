package command

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// input copies the caller's stdin into the command's pipe.
type input struct {
	from, to int
	regular  bool
	peek     int          // our descriptor of the pipe's other end, to count what was not read
	start    int64        // offset of a regular file at the start
	sent     atomic.Int64 // bytes written into the pipe
}

// newInput makes a relay from the caller's descriptor into the pipe whose ends
// are to and other.
func newInput(from, to, other int, regular bool) *input {
	in := &input{from: from, to: to, regular: regular, peek: -1}
	if regular {
		in.start, _ = unix.Seek(from, 0, unix.SEEK_CUR)
		// Held to the end: it also keeps a command that reads nothing from
		// turning our writes into EPIPE, which nobody waits for.
		in.peek, _ = unix.FcntlInt(uintptr(other), unix.F_DUPFD_CLOEXEC, 3)
	}
	return in
}

func (in *input) run() {
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Read(in.from, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 || !writeAll(in.to, buf[:n], &in.sent) {
			break
		}
	}
	_ = unix.Close(in.to) // the command sees the end
}

// giveBack sets the offset of a regular file to what the command has read, so
// that `(sandbox head -n1; cat) < file` goes on where head's pipe stopped.
func (in *input) giveBack() {
	if !in.regular {
		return
	}
	left, err := unix.IoctlGetInt(in.peek, unix.TIOCINQ)
	if err != nil {
		left = 0
	}
	_, _ = unix.Seek(in.from, in.start+in.sent.Load()-int64(left), unix.SEEK_SET)
}

// output copies what the command writes to one of the caller's descriptors
// until the other ends are closed, or the command has ended and nothing is left.
type output struct {
	from, to int
	linger   int // milliseconds to wait for late output after the end
	wake     int // eventfd: the command has ended
	done     chan struct{}
}

func newOutput(from, to, linger int) *output {
	wake, _ := unix.Eventfd(0, unix.EFD_CLOEXEC)
	return &output{from: from, to: to, linger: linger, wake: wake, done: make(chan struct{})}
}

func (o *output) run() {
	defer close(o.done)
	buf := make([]byte, 32<<10)
	ended := false
	for {
		timeout := -1
		fds := []unix.PollFd{{Fd: int32(o.from), Events: unix.POLLIN}, {Fd: int32(o.wake), Events: unix.POLLIN}}
		if ended {
			timeout, fds = o.linger, fds[:1]
		}
		n, err := unix.Poll(fds, timeout)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		if fds[0].Revents == 0 {
			ended = true
			continue
		}
		n, err = unix.Read(o.from, buf)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if n <= 0 || !writeAll(o.to, buf[:n], nil) {
			_ = unix.Close(o.from) // the command gets SIGPIPE, as it would without us
			return
		}
	}
}

// finish waits until all that the command wrote is out.
func (o *output) finish() {
	one := [8]byte{1}
	_, _ = unix.Write(o.wake, one[:])
	<-o.done
}

// writeAll writes b; it reports false when the other side is gone. counted, if
// any, follows what was written.
func writeAll(fd int, b []byte, counted *atomic.Int64) bool {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		switch {
		case err == nil:
			if counted != nil {
				counted.Add(int64(n))
			}
			b = b[n:]
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN): // somebody set O_NONBLOCK on the shared terminal
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
		default:
			return false
		}
	}
	return true
}
