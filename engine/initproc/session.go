package initproc

import (
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/harden"
)

// sessionMain leads a terminal session: it starts one command in a process
// group of its own, gives it the terminal, and tells init when the command
// stops, goes on or ends, as a shell would. It runs restricted like the
// command itself.
func sessionMain() int {
	_ = harden.Undumpable()
	unix.CloseOnExec(sessionConn)
	unix.CloseOnExec(sessionTTY)
	conn := control.NewConn(sessionConn)
	var task control.Request
	if _, err := conn.Receive(&task); err != nil {
		return 125
	}
	pid, err := startInGroup(task.Path, &task)
	if err != nil {
		ev := control.Event{Proto: control.Protocol, Kind: control.Failed, Code: exitCode(err)}
		ev.SetFault(explainExec(task.Argv[0], err))
		_ = conn.Send(&ev)
		return int(ev.Code)
	}
	// After the fork, so that the command does not inherit it: tcsetpgrp from
	// the background would stop this process otherwise.
	signal.Ignore(unix.SIGTTOU, unix.SIGTTIN, unix.SIGTSTP, unix.SIGINT, unix.SIGQUIT)
	l := leader{pid: pid, conn: conn, owns: task.Foreground}
	// The command needs the leader's standard streams no more; a pipe must end
	// when the command closes it.
	for fd := range 3 {
		_ = unix.Close(fd)
	}
	_ = conn.Send(&control.Event{Proto: control.Protocol, Kind: control.Started, Pid: int64(pid)})
	go l.obey()
	return l.wait()
}

// startInGroup starts the command. It takes the terminal itself, before it is
// executed: a key that is pressed at its first word is for it, and what it
// gives to a job of its own is not taken back.
func startInGroup(path string, task *control.Request) (int, error) {
	attr := &syscall.ProcAttr{
		Env: task.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Foreground: task.Foreground, Ctty: sessionTTY},
	}
	pid, err := syscall.ForkExec(path, task.Argv, attr)
	if shellScript(err) {
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"sh", path}, task.Argv[1:]...), attr)
	}
	return pid, err
}

type leader struct {
	pid  int
	conn *control.Conn
	owns bool // the command's group was given the terminal
}

func (l *leader) giveTerminal() {
	_ = unix.IoctlSetPointerInt(sessionTTY, unix.TIOCSPGRP, l.pid)
}

// obey continues the command when init says so.
func (l *leader) obey() {
	for {
		var m control.Command
		if _, err := l.conn.Receive(&m); err != nil {
			return
		}
		if m.Resume {
			if m.Foreground {
				l.giveTerminal()
			}
			_ = unix.Kill(-l.pid, unix.SIGCONT)
		}
	}
}

// wait reports each stop and returns after the end.
func (l *leader) wait() int {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(l.pid, &ws, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
		case err != nil || pid != l.pid:
			return 125
		case ws.Stopped():
			if l.early(ws.StopSignal()) {
				continue
			}
			_ = l.conn.Send(&control.Event{Kind: control.Stopped, Signal: int64(ws.StopSignal())})
		default:
			ev := control.Event{Kind: control.Exited, Signal: signalOf(ws)}
			if ws.Exited() {
				ev.Code = int64(ws.ExitStatus())
			}
			_ = l.conn.Send(&ev)
			return int(ev.Code)
		}
	}
}

// early reports and repairs a stop for reading or writing the terminal by a
// command that owns it: it asked before giveTerminal had been called.
func (l *leader) early(sig syscall.Signal) bool {
	if !l.owns || (sig != unix.SIGTTIN && sig != unix.SIGTTOU) {
		return false
	}
	if pg, err := unix.IoctlGetInt(sessionTTY, unix.TIOCGPGRP); err != nil || pg != l.pid {
		return false
	}
	_ = unix.Kill(-l.pid, unix.SIGCONT)
	return true
}
