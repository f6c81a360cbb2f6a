package launch

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/fault"
	"sandbox/engine/initproc"
	"sandbox/engine/store"
)

// start brings the sandbox up. The caller holds the lock.
func start(dir store.Dir, lock *os.File, o Options) (*Link, error) {
	if err := settle(dir, o.Warn); err != nil {
		return nil, err
	}
	meta, fresh, err := loadOrNew(dir, o)
	if err != nil {
		return nil, err
	}
	base, err := unix.Open(dir.Path(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "open", dir.Path(), err)
	}
	defer func() { _ = unix.Close(base) }()
	s := starting{dir: dir, base: base, lock: lock, meta: meta, changed: fresh, plainRenames: o.PlainRenames}
	return s.run()
}

// settle waits for the end of an init that was killed a moment ago: its mounts
// go after its locks do, and an upper must not be in two mounts.
func settle(dir store.Dir, warn func(string)) error {
	if pidfd := InitPidfd(dir); pidfd >= 0 {
		defer func() { _ = unix.Close(pidfd) }()
		if !waitGone(pidfd, startWait) {
			return fault.New(fault.Failed, "start sandbox", dir.Name, "its last run has not ended yet", "Try again.")
		}
	}
	return noteCrash(dir, warn)
}

// loadOrNew reads the settings or makes new ones.
func loadOrNew(dir store.Dir, o Options) (m store.Meta, fresh bool, err error) {
	mode := Mode()
	m, err = dir.LoadMeta()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := store.CheckUpper(dir.Path()); err != nil {
			return m, false, err
		}
		m = store.Meta{
			Format: store.Format, Name: dir.Name, Created: time.Now().UTC(), Mode: mode, UID: os.Getuid(),
			Project: o.Project, Masks: []string{dir.Storage},
		}
		fresh = true
	case err != nil:
		return m, false, err
	case m.Mode != mode:
		return m, false, fault.New(fault.Usage, "start sandbox", dir.Name,
			"it was made in mode "+m.Mode+" and this is mode "+mode+", which writes other marks into its layers",
			"Run it as it was made, or use another --name.")
	}
	net := o.Net
	if net == "" {
		net = "none"
	}
	if m.Net != net {
		m.Net, fresh = net, true
	}
	return m, fresh, nil
}

// Mode returns the mode that this process can start sandboxes in: P for the
// machine's real root, U for everybody else and for root of a user namespace.
func Mode() string {
	if os.Geteuid() != 0 {
		return store.ModeUser
	}
	b, err := os.ReadFile("/proc/self/uid_map")
	if err != nil || len(b) == 0 || !identity(string(b)) || !mayMount() {
		return store.ModeUser
	}
	return store.ModePrivileged
}

// mayMount reports whether CAP_SYS_ADMIN is effective.
func mayMount() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&hdr, &data[0]) != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// starting is one start under way.
type starting struct {
	dir     store.Dir
	base    int // O_PATH of the sandbox's directory
	lock    *os.File
	meta    store.Meta
	changed bool // meta must be written
	// plainRenames leaves renames of directories to the kernel (mode U).
	plainRenames bool

	modes map[string]uint32 // of the plan's directories, for relayout
}

func (s *starting) run() (*Link, error) {
	listen, err := control.Listen(s.base, store.SocketFile)
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "make the control socket in", s.dir.Path(), err)
	}
	defer func() { _ = unix.Close(listen) }()
	var status, config [2]int
	if err := pipes(&status, &config); err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(config[1]) }()
	pid, err := s.clone(listen, status[1], config[0])
	_ = unix.Close(status[1])
	_ = unix.Close(config[0])
	if err != nil {
		_ = unix.Close(status[0])
		return nil, err
	}
	go reap(pid)
	// init's runtime starts on the other core while the plan is made here
	l := &Link{Fresh: true, Dir: s.dir, status: status[0], pid: pid, work: "work." + strconv.FormatInt(time.Now().UnixNano(), 36)}
	// The pid comes first: an init that has read its configuration goes on
	// without us, and whoever stops it must find it.
	if err = writePid(s.dir, pid, l.work); err == nil {
		err = s.configure(config[1], l.work)
	}
	if err == nil {
		l.Conn, err = dial(s.dir)
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		if l.Conn != nil {
			_ = l.Conn.Close()
		}
		_ = unix.Close(status[0])
		return nil, err
	}
	return l, nil
}

func pipes(ps ...*[2]int) error {
	for _, p := range ps {
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return fault.Wrap(fault.Failed, "make a pipe", "", err)
		}
	}
	return nil
}

// reap takes init's status when it ends, for clients that live longer.
func reap(pid int) {
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &ws, 0, nil); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// clone executes this program again as init in new namespaces.
func (s *starting) clone(listen, status, config int) (int, error) {
	flags := uintptr(unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)
	if s.meta.Net != "host" {
		flags |= unix.CLONE_NEWNET
	}
	sys := &syscall.SysProcAttr{Setsid: true, Cloneflags: flags}
	if s.meta.Mode == store.ModeUser {
		uid, gid := os.Getuid(), os.Getgid()
		sys.Cloneflags |= unix.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		sys.AmbientCaps = allCaps()
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fault.Wrap(fault.Failed, "open", "/dev/null", err)
	}
	defer func() { _ = unix.Close(null) }()
	logfd, err := unix.Openat(s.base, store.InitLog, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return 0, fault.Wrap(fault.Failed, "open", s.dir.Path(store.InitLog), err)
	}
	defer func() { _ = unix.Close(logfd) }()
	pid, err := syscall.ForkExec(self(), []string{initproc.InitName}, &syscall.ProcAttr{
		Dir: "/",
		Files: []uintptr{
			uintptr(null), uintptr(logfd), uintptr(logfd),
			uintptr(listen), uintptr(status), uintptr(config), s.lock.Fd(),
		},
		Sys: sys,
	})
	if err != nil {
		return 0, cloneError(err, s.meta.Mode)
	}
	return pid, nil
}

// allCaps lists the capabilities that this kernel knows.
func allCaps() []uintptr {
	var caps []uintptr
	for c := uintptr(0); c < 64; c++ {
		if _, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err != nil {
			break
		}
		caps = append(caps, c)
	}
	return caps
}

// cloneError says what the machine lacks.
func cloneError(err error, mode string) error {
	f := &fault.Error{Code: fault.Unsupported, Op: "make the namespaces of the sandbox", Err: err}
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EUSERS):
		f.Reason = "the limit on namespaces is reached"
		f.Hint = "Raise user.max_user_namespaces, user.max_mnt_namespaces and their like with sysctl."
	case (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)) && mode == store.ModeUser:
		f.Reason = "user namespaces are not allowed"
		f.Hint = "Debian: sysctl kernel.unprivileged_userns_clone=1. Ubuntu: an AppArmor profile with `userns,` for this program. In a container: run it outside. `sandbox doctor` says more."
	default:
		f.Code = fault.Failed
	}
	return f
}
