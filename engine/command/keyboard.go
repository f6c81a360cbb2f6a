package command

import (
	"errors"

	"golang.org/x/sys/unix"
)

// keyboard relays keys from the caller's terminal to the command's. It waits
// in poll and not in read, so that it can be stopped between two keys: a key
// typed after that is the caller's.
type keyboard struct {
	from, to int
	wake     int // eventfd
	done     chan struct{}
	hungUp   func()
}

// newKeyboard starts relaying; hungUp is called when the terminal is gone.
func newKeyboard(from, to int, hungUp func()) *keyboard {
	wake, _ := unix.Eventfd(0, unix.EFD_CLOEXEC)
	k := &keyboard{from: from, to: to, wake: wake, done: make(chan struct{}), hungUp: hungUp}
	go k.run()
	return k
}

func (k *keyboard) stop() {
	one := [8]byte{1}
	_, _ = unix.Write(k.wake, one[:])
	<-k.done
	_ = unix.Close(k.wake)
}

func (k *keyboard) run() {
	defer close(k.done)
	buf := make([]byte, 4<<10)
	for {
		fds := []unix.PollFd{{Fd: int32(k.from), Events: unix.POLLIN}, {Fd: int32(k.wake), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return
		}
		if fds[1].Revents != 0 {
			return
		}
		n, err := unix.Read(k.from, buf)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if n <= 0 {
			k.hungUp() // init hangs up the command
			return
		}
		if !writeAll(k.to, buf[:n], nil) {
			return
		}
	}
}
