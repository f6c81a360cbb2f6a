package initproc

import (
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/fault"
)

// run starts a command for a client and reports on it until it ends. It owns fds.
func (s *server) run(c *control.Conn, r *control.Request, fds []int) {
	p := &process{server: s, conn: c, req: r, passed: fds}
	defer p.closeOwned()
	if err := p.start(); err != nil {
		ev := control.Event{Proto: control.Protocol, Kind: control.Failed, Code: p.code}
		ev.SetFault(err)
		_ = c.Send(&ev)
		return
	}
	go p.listen()
	p.finish()
}

// process is one command on behalf of one client.
type process struct {
	server *server
	conn   *control.Conn
	req    *control.Request
	passed []int // streams from the client
	owned  []int // opened here; closed once the command has its copies

	code   int64         // for Failed
	group  int           // the command's process group
	leader *control.Conn // to the session leader, nil without a terminal
	status <-chan unix.WaitStatus
	exited atomic.Bool
}

func (p *process) start() error {
	r := p.req
	p.code = 125
	if len(r.Argv) == 0 {
		return fault.New(fault.Usage, "run", "", "no command was given", "")
	}
	if err := checkDir(r.Dir); err != nil {
		return err
	}
	path, err := lookPath(r.Argv[0], r.Dir, r.Env)
	if err != nil {
		p.code = exitCode(err)
		return explainExec(r.Argv[0], err)
	}
	if r.TTY {
		return p.startSession(path)
	}
	files, err := p.streams(-1)
	if err != nil {
		return err
	}
	st := p.exec(path, r.Argv, files, &syscall.SysProcAttr{Setsid: true})
	if shellScript(st.err) {
		st = p.exec("/bin/sh", append([]string{"sh", path}, r.Argv[1:]...), files, &syscall.SysProcAttr{Setsid: true})
	}
	if st.err != nil {
		p.code = exitCode(st.err)
		return explainExec(r.Argv[0], st.err)
	}
	p.group, p.status = st.pid, st.status
	p.closeOwned()
	// A client that is gone already shows in listen, which hangs up.
	_ = p.conn.Send(&control.Event{Proto: control.Protocol, Kind: control.Started, Pid: int64(st.pid)})
	return nil
}

func (p *process) exec(path string, argv []string, files []uintptr, sys *syscall.SysProcAttr) started {
	return p.server.spawn.start(job{
		path: path, argv: argv, umask: int(p.req.Umask),
		attr: &syscall.ProcAttr{Dir: p.req.Dir, Env: p.req.Env, Files: files, Sys: sys},
	})
}

// checkDir tells a missing working directory from a missing program; fork and
// exec gives the same errno for both. Nothing else is ever used instead.
func checkDir(dir string) error {
	var st unix.Stat_t
	err := unix.Stat(dir, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err == nil && filepath.IsAbs(dir) {
		return nil
	}
	return &fault.Error{
		Code: fault.Failed, Op: "enter the working directory", Path: dir,
		Reason: "it is not there inside the sandbox", Err: err,
		Hint: "Change to a directory that exists in it. /run, /dev, /proc and /sys are made anew inside.",
	}
}

// streams returns descriptors for 0, 1 and 2. tty is the terminal's slave.
func (p *process) streams(tty int) ([]uintptr, error) {
	var out []uintptr
	passed := p.passed
	for _, s := range p.req.Streams {
		switch s {
		case control.Passed:
			if len(passed) == 0 {
				return nil, fault.New(fault.Internal, "run", p.req.Argv[0], "a stream was not passed", "")
			}
			out = append(out, uintptr(passed[0]))
			passed = passed[1:]
		case control.Terminal:
			out = append(out, uintptr(tty))
		default:
			fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, fault.Wrap(fault.Failed, "open", "/dev/null", err)
			}
			p.owned = append(p.owned, fd)
			out = append(out, uintptr(fd))
		}
	}
	return out, nil
}

// closeOwned drops init's copies of the command's descriptors: a pipe must end
// when the command's end is closed.
func (p *process) closeOwned() {
	for _, fd := range append(p.passed, p.owned...) {
		_ = unix.Close(fd)
	}
	p.passed, p.owned = nil, nil
}

// listen carries out the client's messages. A client that goes away hangs up.
func (p *process) listen() {
	for {
		var m control.Command
		fds, err := p.conn.Receive(&m)
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		if err != nil {
			if err == io.EOF || !os.IsTimeout(err) {
				p.hangUp()
			}
			return
		}
		if m.Signal > 0 && !p.exited.Load() {
			_ = unix.Kill(-p.group, unix.Signal(m.Signal))
		}
		if m.Resume {
			if p.leader == nil || p.leader.Send(&m) != nil {
				_ = unix.Kill(-p.group, unix.SIGCONT)
			}
		}
	}
}

// hangUp does to the command what a closed terminal would.
func (p *process) hangUp() {
	if p.exited.Load() {
		return
	}
	_ = unix.Kill(-p.group, unix.SIGHUP)
	_ = unix.Kill(-p.group, unix.SIGCONT)
}

// finish waits for the end of the command and reports it.
func (p *process) finish() {
	ev := control.Event{Proto: control.Protocol, Kind: control.Exited}
	if p.leader != nil {
		ev = p.follow()
	} else if ws := <-p.status; ws.Signaled() {
		ev.Signal = int64(ws.Signal())
	} else {
		ev.Code = int64(ws.ExitStatus())
	}
	p.exited.Store(true)
	_ = p.conn.Send(&ev)
}
