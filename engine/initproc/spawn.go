package initproc

import (
	"errors"
	"log"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
	"sandbox/engine/harden"
	"sandbox/engine/renames"
)

// spawner starts all commands from one locked OS thread. The restrictions
// (capabilities, no_new_privs, Landlock, seccomp) are per thread and inherited
// by children, so the other threads of init stay free of them and no helper
// program is needed.
type spawner struct {
	jobs    chan job
	renames *renames.Listener // nil: directory renames are the kernel's alone

	mu      sync.Mutex // protects all below; held over fork, so that the reaper finds each child
	kids    map[int]chan unix.WaitStatus
	arrived *sync.Cond // a child was added
}

type job struct {
	path  string
	argv  []string
	umask int
	attr  *syscall.ProcAttr
	done  chan started
}

type started struct {
	pid    int
	err    error
	status <-chan unix.WaitStatus
}

// newSpawner starts the thread and the reaper. It fails when a restriction
// cannot be applied: nothing is ever run without them.
// With emulate it asks for reports of renames as well; a kernel that refuses
// that is no failure.
func newSpawner(privileged, emulate bool) (*spawner, error) {
	s := &spawner{jobs: make(chan job), kids: map[int]chan unix.WaitStatus{}}
	s.arrived = sync.NewCond(&s.mu)
	ready := make(chan error)
	go s.thread(privileged, emulate, ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	go s.reap()
	return s, nil
}

func (s *spawner) thread(privileged, emulate bool, ready chan<- error) {
	runtime.LockOSThread() // for ever: the thread is not fit for anything else
	if err := restrict(privileged); err != nil {
		ready <- err
		return
	}
	if emulate {
		var err error
		if s.renames, err = renames.Install(); err != nil {
			log.Printf("renames of the host's directories are left to the kernel: %v", err)
		}
	}
	ready <- nil
	for j := range s.jobs {
		s.mu.Lock()
		old := unix.Umask(j.umask)
		pid, err := syscall.ForkExec(j.path, j.argv, j.attr)
		unix.Umask(old)
		st := started{pid: pid, err: err}
		if err == nil {
			ch := make(chan unix.WaitStatus, 1)
			s.kids[pid] = ch
			st.status = ch
			s.arrived.Signal()
		}
		s.mu.Unlock()
		j.done <- st
	}
}

func restrict(privileged bool) error {
	if privileged {
		if err := harden.LimitRoot(); err != nil {
			return err
		}
	} else if err := harden.DropCapabilities(); err != nil {
		return err
	}
	if _, err := harden.Landlock(); err != nil {
		return err
	}
	return harden.Seccomp()
}

// emulateRenames begins to answer for renames. Until then a command's rename
// would wait. storage is the sandbox's directory.
func (s *spawner) emulateRenames(storage int) {
	if s.renames == nil {
		_ = unix.Close(storage)
		return
	}
	s.renames.Serve(storage, func(pid int) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.kids[pid] != nil
	})
}

// start runs a program and returns its pid and a channel that gets its status.
func (s *spawner) start(j job) started {
	j.done = make(chan started, 1)
	s.jobs <- j
	return <-j.done
}

// reap collects every child: the commands, and the orphans that the kernel
// gives to init.
func (s *spawner) reap() {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, 0, nil)
		s.mu.Lock()
		switch {
		case err == nil:
			if ch, ok := s.kids[pid]; ok {
				delete(s.kids, pid)
				ch <- ws
			}
		case errors.Is(err, unix.ECHILD):
			for len(s.kids) == 0 {
				s.arrived.Wait()
			}
		}
		s.mu.Unlock()
	}
}

// exitCode is the code of a command that could not be executed, as shells have it.
func exitCode(err error) int64 {
	if errors.Is(err, unix.ENOENT) {
		return 127
	}
	return 126
}

// explainExec says why a program could not be executed.
func explainExec(name string, err error) *fault.Error {
	reason := "it cannot be executed"
	switch {
	case errors.Is(err, unix.ENOENT):
		reason = "command not found"
	case errors.Is(err, unix.EACCES):
		reason = "it is not executable"
	}
	return &fault.Error{Code: fault.Failed, Op: "run", Path: name, Reason: reason, Err: err}
}
