package initproc

import (
	"log"
	"syscall"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
)

// allIDs is the size of a map that maps every id to itself.
const allIDs = 4294967295

// outer is PID 1 of mode P after the view was built: it starts the inner
// process in a child user namespace, where all mounts are locked, and then
// only reaps and answers sync, for which the capabilities of the real root
// are needed.
func outer(cfg *Config, b *builder) int {
	if err := guard(); err != nil {
		return fail(err)
	}
	ours, theirs, err := control.Pair()
	if err != nil {
		return fail(cannot("make a socket pair", "", err))
	}
	pipe := [2]int{}
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return fail(cannot("make a pipe", "", err))
	}
	if _, err := unix.Write(pipe[1], (&Config{Name: cfg.Name, Privileged: true, HostNet: cfg.HostNet, UID: cfg.UID, GID: cfg.GID}).Marshal()); err != nil {
		return fail(cannot("write", "the configuration", err))
	}
	_ = unix.Close(pipe[1])
	maps := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: allIDs}}
	pid, err := syscall.ForkExec(Binary, []string{InnerName}, &syscall.ProcAttr{
		Dir:   "/",
		Files: []uintptr{0, 1, 2, fdListen, fdStatus, uintptr(pipe[0]), uintptr(theirs)},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
			UidMappings: maps, GidMappings: maps, GidMappingsEnableSetgroups: true,
		},
	})
	if err != nil {
		return fail(cannot("make the user namespace of root's commands", "", err))
	}
	for _, fd := range []int{fdListen, fdStatus, theirs, pipe[0]} {
		_ = unix.Close(fd)
	}
	go answerSync(control.NewConn(ours), b.overlays)
	return reapUntil(pid)
}

// answerSync serves the inner process.
func answerSync(c *control.Conn, overlays []overlayAt) {
	for {
		var r control.Request
		if _, err := c.Receive(&r); err != nil {
			return
		}
		ev := control.Event{Proto: control.Protocol, Kind: control.Reply}
		ev.SetFault(syncOverlays(overlays, r.Paths))
		if err := c.Send(&ev); err != nil {
			return
		}
	}
}

// reapUntil reaps everything and returns when pid has ended.
func reapUntil(pid int) int {
	for {
		var ws unix.WaitStatus
		got, err := unix.Wait4(-1, &ws, 0, nil)
		if err == unix.ECHILD || got == pid {
			if ws.Signaled() {
				log.Printf("the inner process was killed by %v", ws.Signal())
			}
			return ws.ExitStatus()
		}
	}
}

// innerSync is the descriptor on which the inner process asks for a sync.
const innerSync = 6

// innerMain is the process that serves root's sandbox from inside the child
// user namespace.
func innerMain() int {
	unix.Umask(0)
	for fd := fdListen; fd <= innerSync; fd++ {
		unix.CloseOnExec(fd)
	}
	if err := closeInherited(innerSync + 1); err != nil {
		return fail(err)
	}
	discardSignals()
	log.SetFlags(log.LstdFlags | log.Lmicroseconds)
	cfg, err := readConfig()
	if err != nil {
		return fail(err)
	}
	// Orphans come here instead of to the outer process, which keeps stop simple.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fail(cannot("become the reaper", "", err))
	}
	if err := guard(); err != nil {
		return fail(err)
	}
	link := control.NewView(control.NewConn(innerSync))
	s, err := newServer(cfg, link.Sync)
	if err != nil {
		return fail(err)
	}
	_ = unix.Close(fdStatus)
	s.serve(fdListen)
	return 1
}
