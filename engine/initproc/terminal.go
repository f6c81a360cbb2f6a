package initproc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/fault"
)

// The descriptors of a session leader beyond its standard streams.
const (
	sessionConn = 3 // to init
	sessionTTY  = 4 // the terminal, also when no standard stream is it
)

// startSession runs the command in a terminal of the sandbox's own devpts,
// under a small leader. Without the leader the command's process group would
// be orphaned, and the kernel drops Ctrl-Z for orphaned groups
// (setpgid(2), "orphaned process group").
func (p *process) startSession(path string) error {
	r := p.req
	master, slave, err := openTerminal(r)
	if err != nil {
		return err
	}
	p.owned = append(p.owned, master, slave)
	files, err := p.streams(slave)
	if err != nil {
		return err
	}
	ours, theirs, err := control.Pair()
	if err != nil {
		return fault.Wrap(fault.Failed, "make a socket pair", "", err)
	}
	p.leader = control.NewConn(ours)
	p.owned = append(p.owned, theirs)
	files = append(files, uintptr(theirs), uintptr(slave))
	st := p.server.spawn.start(job{
		path: Binary, argv: []string{SessionName}, umask: int(r.Umask),
		// The leader gets no environment: it is our program, not the user's.
		attr: &syscall.ProcAttr{
			Dir: r.Dir, Files: files,
			Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: sessionTTY},
		},
	})
	if st.err != nil {
		return fault.Wrap(fault.Failed, "start the session of", r.Argv[0], st.err)
	}
	p.status = st.status
	return p.introduce(path, master)
}

// introduce tells the leader what to run and the client that it runs.
func (p *process) introduce(path string, master int) error {
	task := control.Request{
		Proto: control.Protocol, Op: control.OpRun, Path: path,
		Argv: p.req.Argv, Env: p.req.Env, Dir: p.req.Dir, Foreground: p.req.Foreground,
	}
	if err := p.leader.Send(&task); err != nil {
		return fault.Wrap(fault.Failed, "talk to the session of", p.req.Argv[0], err)
	}
	var ev control.Event
	if _, err := p.leader.Receive(&ev); err != nil {
		return fault.Wrap(fault.Failed, "talk to the session of", p.req.Argv[0], err)
	}
	if ev.Kind != control.Started {
		p.code = ev.Code
		return ev.Fault()
	}
	if ev.Pid <= 1 {
		// The leader runs beside the sandbox's programs: what it says is not
		// trusted to name a group that is not one command's.
		return fault.New(fault.Internal, "run", p.req.Argv[0], "the session's leader named no process", "")
	}
	p.group = int(ev.Pid)
	_ = p.conn.Send(&ev, master) // a client that is gone shows in listen
	p.closeOwned()
	return nil
}

// follow passes the leader's news on until the command has ended.
func (p *process) follow() control.Event {
	defer func() { _ = p.leader.Close() }()
	for {
		var ev control.Event
		if _, err := p.leader.Receive(&ev); err != nil {
			// The leader was killed from inside; its status is all there is.
			ws := <-p.status
			return control.Event{Proto: control.Protocol, Kind: control.Exited, Code: int64(max(ws.ExitStatus(), 0)), Signal: signalOf(ws)}
		}
		ev.Proto = control.Protocol
		if ev.Kind == control.Exited {
			return ev
		}
		if p.conn.Send(&ev) != nil {
			p.hangUp()
		}
	}
}

func signalOf(ws unix.WaitStatus) int64 {
	if ws.Signaled() {
		return int64(ws.Signal())
	}
	return 0
}

// openTerminal opens a pair of the sandbox's devpts, sized and set like the
// caller's terminal. The slave is opened through the master (TIOCGPTPEER), so
// no path that a program inside could exchange is involved.
func openTerminal(r *control.Request) (master, slave int, err error) {
	master, err = unix.Open("/dev/pts/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, -1, fault.Wrap(fault.Failed, "open a terminal", "/dev/pts/ptmx", err)
	}
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err == nil {
		slave, err = peer(master)
	}
	if err != nil {
		_ = unix.Close(master)
		return -1, -1, fault.Wrap(fault.Failed, "open a terminal", "", err)
	}
	_ = unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: r.Rows, Col: r.Cols})
	if len(r.Termios) == int(unsafe.Sizeof(unix.Termios{})) {
		t := *(*unix.Termios)(unsafe.Pointer(&r.Termios[0]))
		_ = unix.IoctlSetTermios(slave, unix.TCSETS, &t)
	}
	return master, slave, nil
}

// peer is ioctl_tty(2) TIOCGPTPEER.
func peer(master int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER,
		unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}
