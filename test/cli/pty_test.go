package cli

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"sandbox/internal/testbin"
)

// pty N INPUT sandbox ARGS…: runs it on a terminal of its own, where somebody
// types the Go-quoted INPUT once something is shown; it must exit with N. What the terminal shows goes
// to the file $WORK/pty, with plain line ends.
func pty(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: pty N INPUT sandbox ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	input := unquote(ts, args[1])
	master, slave, err := openPty()
	ts.Check(err)
	if args[2] != "sandbox" {
		ts.Fatalf("pty runs sandbox, not %s", args[2])
	}
	cmd := exec.Command(testbin.Path(), args[3:]...) //nolint:gosec // our binary
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "SHELL", "LANG", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	ts.Check(slave.Close())
	timeout := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer timeout.Stop()

	shown := make(chan []byte)
	ready := make(chan struct{})
	go func() {
		var all []byte
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if len(all) == 0 {
				close(ready)
			}
			all = append(all, buf[:n]...)
			if err != nil { // EIO: the last process let go of the terminal
				shown <- all
				return
			}
		}
	}()
	if input != "" {
		<-ready
		_, err = master.WriteString(input)
		ts.Check(err)
	}
	err = cmd.Wait()
	text := <-shown
	_ = master.Close()
	ts.Check(os.WriteFile(ts.MkAbs(ts.Getenv("WORK")+"/pty"), plain(text), 0o600))
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s", got, want, text)
	}
}

// plain undoes the terminal's translation of line ends.
func plain(text []byte) []byte {
	out := text[:0:0]
	for i, c := range text {
		if c == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			continue
		}
		out = append(out, c)
	}
	return out
}

func openPty() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	return os.NewFile(uintptr(fd), "ptmx"), slave, err
}
