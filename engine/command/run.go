package command

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/fault"
)

// Spec is a command to run.
type Spec struct {
	Argv, Env []string
	Dir       string // working directory, absolute
	Stdio     [3]*os.File
}

// started is told when the command runs; what takes time belongs there.
type started = func()

// Run runs a command over a connection to init and returns its exit code:
// 128+n for signal n, 127 and 126 when it could not be executed, 125 when the
// sandbox failed. It takes over the connection.
func Run(conn *control.Conn, spec Spec, onStart started) (int, error) {
	defer func() { _ = conn.Close() }()
	var fds [3]int
	for i, f := range spec.Stdio {
		fds[i] = -1
		if f != nil {
			fds[i] = int(f.Fd())
		}
	}
	st, err := classify(fds)
	if err != nil {
		return 125, err
	}
	r := &runner{conn: conn, streams: st, fds: fds, resumed: make(chan struct{}, 1)}
	if st.tty {
		r.term = openTerminal(fds)
	}
	if err := r.start(spec); err != nil {
		return r.code, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if onStart != nil {
			onStart()
		}
	}()
	code, err := r.follow()
	<-done // a command may end before it
	return code, err
}

// runner is one command being followed.
type runner struct {
	conn    *control.Conn
	streams *streams
	fds     [3]int
	code    int

	term    *terminal // nil without one
	master  int       // of the command's terminal
	screen  *output   // its output
	keys    *keyboard // nil while the keyboard is the caller's
	wasRaw  bool      // the command had the keyboard once
	resumed chan struct{}
}

func (r *runner) start(spec Spec) error {
	r.code = 125
	req := control.Request{
		Proto: control.Protocol, Op: control.OpRun, Argv: spec.Argv, Env: spec.Env, Dir: spec.Dir,
		Umask: int64(umask()), Streams: r.streams.kinds, TTY: r.term != nil,
	}
	if r.term != nil {
		// In a pipeline, or in the background, the terminal stays with the
		// caller until the command reads from it.
		req.Foreground = isTerminal(r.fds[0]) && isTerminal(r.fds[1]) && r.term.foreground()
		req.Rows, req.Cols = r.term.size()
		req.Termios = r.term.settings(req.Foreground)
	}
	// Before the start: a signal that comes while the command starts is kept.
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT, unix.SIGWINCH} {
		if !signal.Ignored(s) { // by nohup, or by a shell for its background jobs
			signal.Notify(signals, s)
		}
	}
	if err := r.conn.Send(&req, r.streams.passed...); err != nil {
		return control.Lost(err)
	}
	var ev control.Event
	got, err := r.conn.Receive(&ev)
	if err != nil {
		return control.Lost(err)
	}
	if f := ev.Fault(); f != nil || ev.Kind != control.Started {
		r.code = int(ev.Code)
		if f == nil {
			f = fault.New(fault.Internal, "run", spec.Argv[0], "init gave an unknown answer", "")
		}
		return f
	}
	if r.term != nil {
		if len(got) != 1 {
			return fault.New(fault.Internal, "run", spec.Argv[0], "init passed no terminal", "")
		}
		r.attach(got[0], req.Foreground)
	}
	r.streams.begin()
	go r.forward(signals)
	return nil
}

// attach connects the caller's terminal with the command's.
func (r *runner) attach(master int, foreground bool) {
	r.master = master
	out := r.fds[1]
	if !isTerminal(out) {
		out = r.term.fd
	}
	r.screen = newOutput(master, out, 20)
	go r.screen.run()
	if foreground {
		r.takeTerminal()
	}
}

// takeTerminal sends the keyboard to the command.
func (r *runner) takeTerminal() {
	r.wasRaw = true
	r.term.setRaw()
	r.term.handOver(r.master)
	r.resize()
	if r.keys == nil {
		r.keys = newKeyboard(r.term.fd, r.master, r.conn.Shutdown)
	}
}

// giveTerminal returns it to the caller. From here on not one key is taken.
func (r *runner) giveTerminal() {
	if r.keys != nil {
		r.keys.stop()
		r.keys = nil
	}
	if r.term != nil {
		r.term.restore()
	}
}

func (r *runner) resize() {
	if ws, err := unix.IoctlGetWinsize(r.term.fd, unix.TIOCGWINSZ); err == nil {
		_ = unix.IoctlSetWinsize(r.master, unix.TIOCSWINSZ, ws)
	}
}

// forward passes the caller's signals on to the command's process group.
func (r *runner) forward(signals <-chan os.Signal) {
	for s := range signals {
		switch s {
		case unix.SIGWINCH:
			if r.term != nil {
				r.resize()
			}
		case unix.SIGCONT:
			select {
			case r.resumed <- struct{}{}:
			default:
			}
		default:
			_ = r.conn.Send(&control.Command{Signal: int64(s.(syscall.Signal))})
		}
	}
}

// follow waits for the end of the command.
func (r *runner) follow() (int, error) {
	for {
		var ev control.Event
		got, err := r.conn.Receive(&ev)
		for _, fd := range got {
			_ = unix.Close(fd)
		}
		if err != nil {
			r.giveTerminal()
			return 125, control.Lost(err)
		}
		switch ev.Kind {
		case control.Stopped:
			r.stopped(unix.Signal(ev.Signal))
		case control.Exited:
			if r.keys != nil { // the next key is for the caller's shell
				r.keys.stop()
				r.keys = nil
			}
			if r.screen != nil {
				r.screen.finish()
			}
			r.streams.finish()
			r.giveTerminal()
			if ev.Signal != 0 {
				return 128 + int(ev.Signal), nil
			}
			return int(ev.Code), nil
		}
	}
}

// stopGap is how long a stop of our own process may take to set in. When the
// kernel drops it (an orphaned process group), the command goes on after it.
const stopGap = 100 * time.Millisecond

// stopped does to the caller what happened to the command. A command that
// stopped because it wants the terminal gets it when the caller has it.
func (r *runner) stopped(sig unix.Signal) {
	wantsTerminal := sig == unix.SIGTTIN || sig == unix.SIGTTOU
	if wantsTerminal && r.term.foreground() {
		r.takeTerminal()
		r.resume()
		return
	}
	r.giveTerminal()
	select {
	case <-r.resumed:
	default:
	}
	if !wantsTerminal {
		sig = unix.SIGTSTP
	}
	_ = unix.Kill(0, sig) // the whole job, as the terminal's own Ctrl-Z would
	select {
	case <-r.resumed:
	case <-time.After(stopGap):
	}
	r.resume()
}

// resume continues the command, in the foreground when the caller is there.
func (r *runner) resume() {
	fg := r.term != nil && r.term.foreground()
	if fg && r.wasRaw {
		r.takeTerminal()
	}
	_ = r.conn.Send(&control.Command{Resume: true, Foreground: fg})
}

// umask reads the process's mask; the kernel only has an exchange.
func umask() int {
	m := unix.Umask(0)
	unix.Umask(m)
	return m
}
