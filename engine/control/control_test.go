package control

import (
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
	"sandbox/engine/view"
)

func pair(t *testing.T) (a, b *Conn) {
	t.Helper()
	x, y, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	a, b = NewConn(x), NewConn(y)
	t.Cleanup(func() { _ = a.Close(); _ = b.Close() })
	return a, b
}

func sample(size int) Request {
	return Request{
		Proto: Protocol, Op: OpRun,
		Argv: []string{"cat", "\xff\xfe", ""}, Env: []string{"A=" + strings.Repeat("x", size)},
		Dir: "/a\nb", Umask: 0o22, Streams: [3]Stream{Passed, Terminal, Null}, TTY: true, Foreground: true,
		Rows: 24, Cols: 80, Termios: []byte{1, 2, 3},
		Path: "/p", Target: "t", Expect: "file:00", Paths: []string{"/x", "/y"},
		Meta: view.Meta{Mode: 0o4755, UID: 1, GID: 2, MtimeNs: -5, Xattrs: map[string][]byte{"user.a": {0, 255}}},
	}
}

// A long command line does not fit into a socket message and must arrive all
// the same, with the descriptors in their order.
func TestRequestArrivesWhole(t *testing.T) {
	for _, size := range []int{0, maxInline - 200, maxInline, 2 << 20} {
		a, b := pair(t)
		want := sample(size)
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("hello"); err != nil {
			t.Fatal(err)
		}
		if err := a.Send(&want, int(f.Fd())); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		var got Request
		fds, err := b.Receive(&got)
		if err != nil || len(fds) != 1 {
			t.Fatalf("%d bytes: %v, %d descriptors", size, err, len(fds))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d bytes: got %+v", size, got)
		}
		buf := make([]byte, 5)
		if n, _ := unix.Pread(fds[0], buf, 0); string(buf[:n]) != "hello" {
			t.Errorf("%d bytes: the passed file holds %q", size, buf)
		}
		if flags, _ := unix.FcntlInt(uintptr(fds[0]), unix.F_GETFD, 0); flags&unix.FD_CLOEXEC == 0 {
			t.Error("a received descriptor would be inherited")
		}
	}
}

func TestCloseIsEOF(t *testing.T) {
	a, b := pair(t)
	a.Shutdown()
	if _, err := b.Receive(&Event{}); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

func TestFaultCrossesTheSocket(t *testing.T) {
	a, b := pair(t)
	ev := Event{Proto: Protocol, Kind: Reply}
	ev.SetFault(&fault.Error{Code: fault.Stale, Op: "write", Path: "/x", Reason: "it moved", Hint: "Look again.", Err: unix.EEXIST})
	if err := a.Send(&ev); err != nil {
		t.Fatal(err)
	}
	var got Event
	if _, err := b.Receive(&got); err != nil {
		t.Fatal(err)
	}
	err := got.Fault()
	if !errors.Is(err, &fault.Error{Code: fault.Stale}) || fault.HintOf(err) != "Look again." {
		t.Errorf("got %#v", err)
	}
	if want := "write /x: it moved: file exists"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestOtherProtocolSaysStop(t *testing.T) {
	err := (&Event{Proto: Protocol + 1}).Fault()
	if err == nil || !strings.Contains(fault.HintOf(err), "sandbox stop") {
		t.Errorf("got %v, hint %q", err, fault.HintOf(err))
	}
}

// A message from a sandbox is hostile: whatever it holds, decoding ends with
// an error or with values, and allocates no more than the message's size.
func FuzzUnmarshal(f *testing.F) {
	r := sample(10)
	f.Add(r.marshal())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = (&Request{}).unmarshal(b)
		_ = (&Event{}).unmarshal(b)
		_ = (&Command{}).unmarshal(b)
	})
}
