package initproc

import (
	"errors"
	"log"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/view/dirview"
)

// server answers the control socket from inside the view.
type server struct {
	spawn *spawner
	view  *dirview.Dir
	uid   int
}

// newServer works in the current root directory. sync is how overlays are
// reconfigured, which in mode P only the outer process can do.
func newServer(cfg *Config, sync func(paths ...string) error) (*server, error) {
	sp, err := newSpawner(cfg.Privileged, cfg.Renames && !cfg.Privileged)
	if err != nil {
		return nil, err
	}
	root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, cannot("open", "/", err)
	}
	v := dirview.New(root)
	v.OnSync = sync
	return &server{spawn: sp, view: v, uid: cfg.UID}, nil
}

// serve accepts connections for ever.
func (s *server) serve(listen int) {
	for {
		fd, _, err := unix.Accept4(listen, unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
			go s.conn(fd)
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
		default:
			log.Printf("accept: %v", err)
			time.Sleep(10 * time.Millisecond) // out of descriptors: wait for some to close
		}
	}
}

// conn answers one connection. The socket lies in storage that only the owner
// can enter; the peer's uid is checked all the same.
func (s *server) conn(fd int) {
	c := control.NewConn(fd)
	defer func() { _ = c.Close() }()
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || int(cred.Uid) != s.uid {
		return
	}
	for {
		var r control.Request
		fds, err := c.Receive(&r)
		if err != nil {
			return
		}
		if r.Proto != control.Protocol {
			_ = c.Send(&control.Event{Proto: control.Protocol, Kind: control.Reply})
			return
		}
		if r.Op == control.OpRun {
			s.run(c, &r, fds)
			return
		}
		ev := s.reply(&r, fds)
		for _, f := range fds {
			_ = unix.Close(f)
		}
		if c.Send(ev) != nil {
			return
		}
		if r.Op == control.OpStop {
			os.Exit(0) // the kernel ends all that is left
		}
	}
}

func (s *server) reply(r *control.Request, fds []int) *control.Event {
	ev := &control.Event{Proto: control.Protocol, Kind: control.Reply}
	var err error
	switch r.Op {
	case control.OpPing:
	case control.OpStop:
		s.stopAll()
	case control.OpSync:
		err = s.view.Sync(r.Paths...)
	case control.OpPrint:
		ev.Print, err = s.view.Print(r.Path)
	case control.OpWrite:
		err = s.write(r, fds)
	case control.OpSymlink:
		err = s.view.Symlink(r.Path, r.Target, r.Meta, r.Expect)
	case control.OpMkdir:
		err = s.view.Mkdir(r.Path, r.Meta, r.Expect)
	case control.OpMknod:
		err = s.view.Mknod(r.Path, entry.Type(r.Target), r.Meta, r.Expect)
	case control.OpRemove:
		err = s.view.Remove(r.Path, r.Expect)
	case control.OpSetattr:
		err = s.view.Setattr(r.Path, r.Meta)
	default:
		err = fault.New(fault.Internal, "answer a request", "", "the operation is not known", "")
	}
	ev.SetFault(err)
	return ev
}

func (s *server) write(r *control.Request, fds []int) error {
	if len(fds) != 1 {
		return fault.New(fault.Internal, "write", r.Path, "no content was passed", "")
	}
	dup, err := unix.FcntlInt(uintptr(fds[0]), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fault.Wrap(fault.Failed, "write", r.Path, err)
	}
	f := os.NewFile(uintptr(dup), "content")
	defer func() { _ = f.Close() }()
	return s.view.Write(r.Path, f, r.Meta, r.Expect)
}

// stopGrace is how long stop lets programs end by themselves after SIGTERM.
const stopGrace = 2 * time.Second

// stopAll asks everything but init itself to end.
func (s *server) stopAll() {
	if unix.Kill(-1, unix.SIGTERM) != nil {
		return // nobody there
	}
	_ = unix.Kill(-1, unix.SIGCONT)
	for end := time.Now().Add(stopGrace); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if unix.Kill(-1, 0) != nil {
			return
		}
	}
}
