package engine

import (
	"context"
	"os"
	"sync"
	"time"

	"sandbox/engine/apply"
	"sandbox/engine/base"
	"sandbox/engine/command"
	"sandbox/engine/control"
	"sandbox/engine/fault"
	"sandbox/engine/harden"
	"sandbox/engine/launch"
	"sandbox/engine/store"
	"sandbox/engine/view"
)

// Run runs a command in a sandbox, which is made or started when needed, and
// returns the command's exit code: 128+n for signal n, 127 and 126 when it
// cannot be found or executed. With an error it is 125 and nothing ran, or the
// connection to the running command was lost.
//
// Nothing ever runs outside of the sandbox instead.
func (e *Engine) Run(ctx context.Context, o RunOptions) (int, error) {
	if err := CheckName(o.Name); err != nil {
		return 125, err
	}
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return 125, &fault.Error{
				Code: fault.Failed, Op: "find the working directory", Err: err,
				Reason: "it was removed, or cannot be read", Hint: "Change to a directory that exists.",
			}
		}
	}
	if apply.Pending(store.At(e.Storage, o.Name).Path(store.Journal)) {
		// A sandbox that cannot be opened is told about by the start.
		_, _ = e.openRecovered(ctx, o.Name)
	}
	link, err := e.connect(o.Name, launch.Options{Net: o.Net, Project: dir, Warn: warn(o.Stderr), PlainRenames: o.PlainRenames}, func(l *launch.Link) error {
		// What the host's programs changed since the last command shall show.
		return syncView(l, dir)
	})
	if err != nil {
		return 125, err
	}
	spec := command.Spec{
		Argv: o.Argv, Env: harden.Env(o.Env, o.Name), Dir: dir, Stdio: [3]*os.File{o.Stdin, o.Stdout, o.Stderr},
	}
	code, err := command.Run(link.Conn, spec, link.Keep)
	if code == 125 && err != nil {
		err = link.Explain(err)
	}
	return code, err
}

// syncView makes the host's changes visible inside, and tells the keeper so.
func syncView(l *launch.Link, paths ...string) error {
	now := time.Now()
	err := control.NewView(l.Conn).Sync(paths...)
	if err == nil {
		base.Synced(l.Dir.Path(base.Dir), now, paths...)
	}
	return err
}

// connectTries bounds how often a sandbox is connected to that goes down at
// once: its starter was killed, or somebody stops it.
const connectTries = 5

// connect returns a link to a sandbox. One that is running already is greeted:
// when it does not answer because it is just going down, it is started again.
// Nothing of the caller's has run by then.
func (e *Engine) connect(name string, o launch.Options, greet func(*launch.Link) error) (*launch.Link, error) {
	for try := 1; ; try++ {
		link, err := launch.Connect(e.Storage, name, o)
		if err != nil || link.Fresh {
			return link, err
		}
		if err = greet(link); err == nil {
			return link, nil
		}
		link.Close()
		if !control.IsLost(err) || try == connectTries {
			return nil, err
		}
	}
}

func warn(to *os.File) func(string) {
	return func(s string) {
		if to != nil {
			_, _ = to.WriteString("sandbox: " + s + "\n")
		}
	}
}

// running reports whether a sandbox is up.
func (e *Engine) running(name string) bool {
	return store.Held(store.At(e.Storage, name).Path(store.LockFile))
}

// stop ends a sandbox; one that is down is left as it is.
func (e *Engine) stop(_ context.Context, name string) error {
	return launch.Stop(store.At(e.Storage, name))
}

// session is the merged view of one sandbox for the time of one operation. A
// sandbox that was down is started for it without any command, and stopped
// again, so that reject is the kernel's own work in both cases.
type session struct {
	engine *Engine
	name   string

	once  sync.Once
	view  *control.View
	fresh bool
	err   error
}

func (e *Engine) session(name string) *session { return &session{engine: e, name: name} }

// open gives the view; it starts the sandbox on the first call.
func (s *session) open() (view.View, error) {
	s.once.Do(func() {
		ping := func(l *launch.Link) error {
			_, err := control.Call(l.Conn, control.Request{Op: control.OpPing})
			return err
		}
		link, err := s.engine.connect(s.name, launch.Options{}, ping)
		if err == nil && link.Fresh {
			if err = link.Explain(ping(link)); err != nil {
				link.Close()
			}
		}
		if err != nil {
			s.err = err
			return
		}
		s.fresh = link.Fresh
		s.view = control.NewView(link.Conn)
	})
	if s.err != nil {
		return nil, s.err
	}
	return s.view, nil
}

// close ends the operation's use of the view.
func (s *session) close(ctx context.Context) error {
	if s.view == nil {
		return nil
	}
	_ = s.view.Close()
	if s.fresh {
		return s.engine.stop(ctx, s.name)
	}
	return nil
}
