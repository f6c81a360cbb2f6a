// Package launch starts sandboxes and connects to running ones.
//
// A sandbox is up exactly while its init holds the flock on the file "lock".
// The client that wins the lock makes the control socket, clones init and
// hands both on; all others connect to the socket, which accepts connections
// before init serves them.
package launch

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/fault"
	"sandbox/engine/store"
)

// Options are the wishes of whoever connects.
type Options struct {
	Net     string // none or host; "" takes a running sandbox as it is, and none for a start
	Project string // noted in the settings of a new sandbox
	Warn    func(string)
	// PlainRenames turns the emulation of directory renames off, in a sandbox
	// that this call starts.
	PlainRenames bool
}

// Link is a connection to a sandbox's init.
type Link struct {
	Conn  *control.Conn
	Fresh bool // this call started the sandbox
	Dir   store.Dir

	status int    // pipe on which a fresh init tells why it failed, -1 otherwise
	work   string // fresh: the work directory
	pid    int    // fresh: init
}

// startWait bounds how long a client waits for another client's start.
const startWait = 5 * time.Second

// Connect returns a link to the sandbox, started when it is down.
func Connect(storage, name string, o Options) (*Link, error) {
	dir, err := store.Make(storage, name)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(startWait); ; time.Sleep(time.Millisecond) {
		lock, err := store.TryLock(dir.Path(store.LockFile))
		if err != nil {
			return nil, err
		}
		if lock != nil {
			l, err := start(dir, lock, o)
			_ = lock.Close() // init has its own copy now
			return l, err
		}
		l, err := join(dir, o)
		if err == nil || !again(err) {
			return l, err
		}
		if time.Now().After(end) {
			return nil, &fault.Error{
				Code: fault.Failed, Op: "connect to sandbox", Path: name, Err: err,
				Reason: "it is locked by a process that does not answer",
				Hint:   "`sandbox stop " + name + "` ends it.",
			}
		}
	}
}

// again reports whether a refused connection may be another client's start, or
// a stop, under way.
func again(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT)
}

// join connects to a running sandbox.
func join(dir store.Dir, o Options) (*Link, error) {
	c, err := dial(dir)
	if err != nil {
		return nil, err
	}
	if o.Net != "" {
		m, err := dir.LoadMeta()
		if err == nil && m.Net != o.Net {
			err = fault.New(fault.Usage, "join sandbox", dir.Name,
				"it is running with --net="+m.Net+", not "+o.Net,
				"Stop it first: `sandbox stop "+dir.Name+"`.")
		}
		if err != nil {
			_ = c.Close()
			return nil, err
		}
	}
	return &Link{Conn: c, Dir: dir, status: -1}, nil
}

func dial(dir store.Dir) (*control.Conn, error) {
	fd, err := unix.Open(dir.Path(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "open", dir.Path(), err)
	}
	defer func() { _ = unix.Close(fd) }()
	return control.Dial(fd, store.SocketFile)
}

// Running connects to a sandbox only when it is up; nil when it is down.
func Running(dir store.Dir) *Link {
	if !store.Held(dir.Path(store.LockFile)) {
		return nil
	}
	l, err := join(dir, Options{})
	if err != nil {
		return nil
	}
	return l
}

// Explain turns the error of a broken connection into the reason that a fresh
// init gave on its status pipe.
func (l *Link) Explain(err error) error {
	if l.status < 0 || err == nil {
		return err
	}
	var buf [8 << 10]byte
	n, rerr := unix.Read(l.status, buf[:])
	if rerr != nil || n <= 0 {
		return err
	}
	ev := control.Event{}
	if ev.Unmarshal(buf[:n]) != nil {
		return err
	}
	if f := ev.Fault(); f != nil {
		return f
	}
	return err
}

// Close ends the connection; the sandbox stays up.
func (l *Link) Close() {
	_ = l.Conn.Close()
	if l.status >= 0 {
		_ = unix.Close(l.status)
		l.status = -1
	}
}

// writePid notes "pid start-time work-directory" of init: the start time
// (proc_pid_stat(5), field 22) tells it from a later process with the same
// number.
func writePid(dir store.Dir, pid int, work string) error {
	return store.WriteFile(dir.Path(store.PidFile), []byte(strconv.Itoa(pid)+" "+startTime(pid)+" "+work+"\n"), 0o600)
}

// InitPidfd returns a pidfd of the sandbox's init, or -1 when it has ended.
func InitPidfd(dir store.Dir) int {
	fd, _ := initOf(dir)
	return fd
}

// initOf also returns the name of the work directory that its overlays use.
func initOf(dir store.Dir) (pidfd int, work string) {
	b, err := os.ReadFile(dir.Path(store.PidFile))
	if err != nil {
		return -1, ""
	}
	pid, start, work, ok := parsePid(string(b))
	if !ok {
		return -1, ""
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, ""
	}
	if startTime(pid) != start {
		_ = unix.Close(fd)
		return -1, ""
	}
	return fd, work
}

// waitGone waits until the process of a pidfd has ended, which includes the
// teardown of its mounts. It reports false after the time is up.
func waitGone(pidfd int, d time.Duration) bool {
	end := time.Now().Add(d)
	for {
		p := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		left := time.Until(end)
		n, err := unix.Poll(p, int(max(left.Milliseconds(), 0)))
		if n > 0 {
			return true
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
		if left <= 0 {
			return false
		}
	}
}
