package command

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// terminal is the caller's terminal.
type terminal struct {
	fd    int
	saved unix.Termios
	raw   bool

	handed bool // handOver was done
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// openTerminal takes the first of the descriptors that is a terminal.
func openTerminal(fds [3]int) *terminal {
	for _, fd := range fds {
		if fd < 0 {
			continue
		}
		if t, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			return &terminal{fd: fd, saved: *t}
		}
	}
	return nil
}

// size returns the window's rows and columns, 0 when unknown.
func (t *terminal) size() (rows, cols uint16) {
	ws, err := unix.IoctlGetWinsize(t.fd, unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return ws.Row, ws.Col
}

// foreground reports whether the caller's process group owns the terminal.
func (t *terminal) foreground() bool {
	pg, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && pg == unix.Getpgrp()
}

// setRaw hands every key to the command's own terminal, which interprets it
// (termios(3), "raw mode"). Output is left raw too: the command's terminal has
// processed it.
func (t *terminal) setRaw() {
	if !t.raw {
		if now, err := unix.IoctlGetTermios(t.fd, unix.TCGETS); err == nil {
			t.saved = *now
		}
	}
	raw := t.saved
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	t.raw = unix.IoctlSetTermios(t.fd, unix.TCSETS, &raw) == nil
}

// restore gives the terminal back as it was.
func (t *terminal) restore() {
	if t.raw {
		_ = unix.IoctlSetTermios(t.fd, unix.TCSETSW, &t.saved)
		t.raw = false
	}
}

// settings returns the kernel's struct for the command's terminal. Outside of
// the foreground this terminal still processes output, so the command's must
// not do it as well.
func (t *terminal) settings(foreground bool) []byte {
	s := t.saved
	if !foreground {
		s.Oflag &^= unix.OPOST
	}
	b := *(*[unsafe.Sizeof(s)]byte)(unsafe.Pointer(&s))
	return b[:]
}

// handOver makes the command's terminal process output as the caller's did,
// now that the caller's is raw; see settings.
func (t *terminal) handOver(master int) {
	if t.saved.Oflag&unix.OPOST == 0 {
		return
	}
	if now, err := unix.IoctlGetTermios(master, unix.TCGETS); err == nil && now.Oflag&unix.OPOST == 0 && !t.handed {
		now.Oflag |= unix.OPOST
		_ = unix.IoctlSetTermios(master, unix.TCSETS, now)
	}
	t.handed = true // a program that turns it off later means it
}
