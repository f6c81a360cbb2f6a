package control

import (
	"errors"
	"io"
	"strconv"

	"golang.org/x/sys/unix"

	"sandbox/engine/wire"
)

// maxInline is the size in bytes up to which a message travels in the socket
// itself; a larger one (a long command line) travels in a memfd.
const maxInline = 32 << 10

// Conn is one end of a connection. One goroutine may send while one receives.
type Conn struct{ fd int }

// NewConn takes over a connected SEQPACKET socket.
func NewConn(fd int) *Conn { return &Conn{fd} }

// Close ends the connection.
func (c *Conn) Close() error { return unix.Close(c.fd) }

// Shutdown makes a blocked receive on either end return io.EOF.
func (c *Conn) Shutdown() { _ = unix.Shutdown(c.fd, unix.SHUT_RDWR) }

type message interface {
	marshal() []byte
	unmarshal([]byte) error
}

// Send sends a Request, Event or Command with descriptors, which stay open here.
func (c *Conn) Send(m message, fds ...int) error {
	b := m.marshal()
	large := len(b) > maxInline
	head := []byte{0}
	if large {
		fd, err := memfd(b)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		fds = append([]int{fd}, fds...)
		head[0], b = 1, nil
	}
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	for {
		err := unix.Sendmsg(c.fd, append(head, b...), oob, nil, unix.MSG_NOSIGNAL)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Receive fills m and returns the passed descriptors, all close-on-exec. The
// other end's close is io.EOF.
func (c *Conn) Receive(m message) ([]int, error) {
	buf := make([]byte, maxInline+1)
	oob := make([]byte, unix.CmsgSpace(8*4))
	var n, oobn int
	for {
		var err error
		n, oobn, _, _, err = unix.Recvmsg(c.fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		break
	}
	fds, err := rights(oob[:oobn])
	if err != nil {
		return nil, err
	}
	if n == 0 {
		closeAll(fds)
		return nil, io.EOF
	}
	body := buf[1:n]
	if buf[0] == 1 {
		if len(fds) == 0 {
			return nil, wire.ErrShort
		}
		body, err = readAll(fds[0])
		_ = unix.Close(fds[0])
		fds = fds[1:]
	}
	if err == nil {
		err = m.unmarshal(body)
	}
	if err != nil {
		closeAll(fds)
		return nil, err
	}
	return fds, nil
}

func rights(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for i := range msgs {
		f, err := unix.ParseUnixRights(&msgs[i])
		if err == nil {
			fds = append(fds, f...)
		}
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

func memfd(b []byte) (int, error) {
	fd, err := unix.MemfdCreate("message", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	for off := 0; off < len(b); {
		n, err := unix.Pwrite(fd, b[off:], int64(off))
		if err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
		off += n
	}
	return fd, nil
}

// maxMessage bounds what a peer can make this end read into memory: the
// kernel's own bound on arguments and environment is a quarter of the stack
// limit, far below.
const maxMessage = 64 << 20

func readAll(fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > maxMessage {
		return nil, wire.ErrShort
	}
	b := make([]byte, st.Size)
	for off := 0; off < len(b); {
		n, err := unix.Pread(fd, b[off:], int64(off))
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, wire.ErrShort
		}
		off += n
	}
	return b, nil
}

// Listen makes the control socket name in a directory. The name is looked up
// below the directory's descriptor, because a socket address holds only 108
// bytes of path.
func Listen(dirfd int, name string) (int, error) {
	if err := unix.Unlinkat(dirfd, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: fdPath(dirfd, name)}); err == nil {
		err = unix.Listen(fd, 128)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Dial connects to the control socket name in a directory.
func Dial(dirfd int, name string) (*Conn, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: fdPath(dirfd, name)})
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return NewConn(fd), nil
}

func fdPath(dirfd int, name string) string {
	return "/proc/self/fd/" + strconv.Itoa(dirfd) + "/" + name
}

// Pair returns two connected ends.
func Pair() (a, b int, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	return p[0], p[1], err
}
