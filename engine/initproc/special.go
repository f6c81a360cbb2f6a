package initproc

import (
	"errors"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
	"sandbox/engine/mount"
)

// Binary is where the view holds this program, bound read-only: the leader of
// a terminal session is executed from there. Executing the host's own file
// would let a program inside write to it through /proc/PID/exe.
const Binary = "/run/sandbox/sandbox"

const quiet = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC

// specials makes /proc, /sys, /dev and /run.
func (b *builder) specials() error {
	for _, step := range []func() error{b.proc, b.sys, b.dev, b.run} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) proc() error {
	fd, err := mount.FS("proc", "/proc", quiet)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			return &fault.Error{
				Code: fault.Unsupported, Op: "mount", Path: "/proc", Err: err,
				Reason: "the kernel refuses a new /proc because parts of the present one are covered (are you in a container?)",
				Hint:   "Run outside of the container, or start the container with an uncovered /proc.",
			}
		}
		return cannot("mount", "/proc", err)
	}
	defer func() { _ = unix.Close(fd) }()
	// Attached first: kernels before 6.15 take no mounts onto a detached one.
	if err := b.attach(fd, "/proc", true); err != nil || !b.cfg.Privileged {
		return err
	}
	return coverProc(fd)
}

// coverProc closes the files of /proc that uid 0 may use without any
// capability. In mode U uid 0 is not mapped and nothing needs covering, which
// keeps /proc whole for sandboxes inside (the kernel refuses a new procfs when
// the old one has covers).
func coverProc(proc int) error {
	for _, name := range []string{"sys", "irq", "bus", "fs", "acpi", "scsi", "sysrq-trigger"} {
		m, err := mount.Bind(proc, name, true, unix.MOUNT_ATTR_RDONLY|quiet)
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err == nil {
			err = mount.Attach(m, proc, name)
		}
		if err != nil {
			return cannot("cover", "/proc/"+name, err)
		}
	}
	for _, name := range []string{"kcore", "keys", "timer_list", "latency_stats", "sched_debug"} {
		m, err := mount.Bind(unix.AT_FDCWD, "/dev/null", false, unix.MOUNT_ATTR_RDONLY)
		if err == nil {
			err = mount.Attach(m, proc, name)
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return cannot("cover", "/proc/"+name, err)
		}
	}
	return nil
}

func (b *builder) sys() error {
	var fd int
	var err error
	if b.cfg.HostNet {
		// A new sysfs shows the network namespace that it is mounted in, and
		// needs one that this user namespace owns.
		fd, err = mount.Bind(unix.AT_FDCWD, "/sys", true, unix.MOUNT_ATTR_RDONLY|quiet)
	} else {
		fd, err = mount.FS("sysfs", "/sys", unix.MOUNT_ATTR_RDONLY|quiet)
	}
	if err != nil {
		return cannot("mount", "/sys", err)
	}
	return b.attach(fd, "/sys", false)
}

// tree is a tmpfs being filled.
type tree struct {
	fd  int
	err error
}

func newTree(target string, attr int) (*tree, error) {
	fd, err := mount.FS("tmpfs", target, attr, "mode=0755")
	return &tree{fd: fd}, cannot("mount a tmpfs on", target, err)
}

func (t *tree) dir(rel string, mode uint32) {
	if t.err == nil {
		t.err = cannot("make", rel, unix.Mkdirat(t.fd, rel, mode))
	}
	if t.err == nil {
		t.err = cannot("make", rel, unix.Fchmodat(t.fd, rel, mode, 0))
	}
}

func (t *tree) link(rel, target string) {
	if t.err == nil {
		t.err = cannot("make", rel, unix.Symlinkat(target, t.fd, rel))
	}
}

func (t *tree) file(rel, content string) {
	if t.err != nil {
		return
	}
	fd, err := unix.Openat(t.fd, rel, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err == nil {
		_, err = unix.Write(fd, []byte(content))
		_ = unix.Close(fd)
	}
	t.err = cannot("write", rel, err)
}

// put attaches a mount; a cause in err wins.
func (t *tree) put(fd int, err error, rel string) {
	if t.err != nil {
		return
	}
	if err == nil {
		err = mount.Attach(fd, t.fd, rel)
	}
	t.err = cannot("mount", rel, err)
}

// dev is a small /dev: the harmless device nodes (bound, because a user
// namespace can make none), an own devpts, and an own shm.
func (b *builder) dev() error {
	t, err := newTree("/dev", unix.MOUNT_ATTR_NOSUID)
	if err != nil {
		return err
	}
	if err := b.attachKeep(t.fd, "/dev"); err != nil {
		return err
	}
	for _, n := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		t.file(n, "")
		fd, err := mount.Bind(unix.AT_FDCWD, "/dev/"+n, false, 0)
		t.put(fd, err, n)
	}
	t.dir("pts", 0o755)
	opts := []string{"ptmxmode=0666", "mode=0620"}
	if b.cfg.Privileged {
		opts = append(opts, "gid=5") // group tty, as on every distribution
	}
	fd, err := mount.FS("devpts", "/dev/pts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, opts...)
	t.put(fd, err, "pts")
	t.dir("shm", 0o1777)
	fd, err = mount.FS("tmpfs", "/dev/shm", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode=1777")
	t.put(fd, err, "shm")
	t.dir("mqueue", 0o755)
	if fd, err = mount.FS("mqueue", "/dev/mqueue", quiet); err == nil {
		t.put(fd, nil, "mqueue")
	}
	t.link("ptmx", "pts/ptmx")
	t.link("fd", "/proc/self/fd")
	t.link("stdin", "/proc/self/fd/0")
	t.link("stdout", "/proc/self/fd/1")
	t.link("stderr", "/proc/self/fd/2")
	_ = unix.Close(t.fd)
	return t.err
}

// run is a fresh /run: the host's holds the sockets of every daemon.
func (b *builder) run() error {
	t, err := newTree("/run", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	if err := b.attachKeep(t.fd, "/run"); err != nil {
		return err
	}
	t.dir("lock", 0o1777)
	t.dir("user", 0o755)
	own := "user/" + strconv.Itoa(b.cfg.UID)
	t.dir(own, 0o700)
	if t.err == nil && b.cfg.Privileged {
		t.err = cannot("set the owner of", own, unix.Fchownat(t.fd, own, b.cfg.UID, b.cfg.GID, unix.AT_SYMLINK_NOFOLLOW))
	}
	t.dir("sandbox", 0o755)
	b.binary(t, strings.TrimPrefix(Binary, "/run/"))
	b.resolv(t)
	_ = unix.Close(t.fd)
	return t.err
}

// binary binds this program read-only. It is found by its path, because
// /proc/self/exe belongs to the mount namespace that init came from; when the
// path leads to another file by now (an upgrade), the running one is copied.
func (b *builder) binary(t *tree, rel string) {
	t.file(rel, "")
	var want, have unix.Stat_t
	path, err := os.Readlink("/proc/self/exe")
	if err == nil {
		err = unix.Stat("/proc/self/exe", &want)
	}
	if err == nil && unix.Lstat(path, &have) == nil && have.Dev == want.Dev && have.Ino == want.Ino {
		fd, err := mount.Bind(unix.AT_FDCWD, path, false, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
		t.put(fd, err, rel)
		return
	}
	if err == nil && t.err == nil {
		if err = unix.Unlinkat(t.fd, rel, 0); err == nil {
			err = b.copyFile("/proc/self/exe", t.fd, rel, 0o555)
		}
	}
	if t.err == nil {
		t.err = cannot("copy", "this program", err)
	}
}

// resolv writes the target of /etc/resolv.conf as a plain file when it lies in
// /run, where systemd-resolved and NetworkManager keep it.
func (b *builder) resolv(t *tree) {
	rel, ok := strings.CutPrefix(b.cfg.ResolvAt, "/run/")
	if !ok {
		return
	}
	dir := path.Dir(rel)
	for i := range len(dir) + 1 {
		if i == len(dir) || dir[i] == '/' {
			if dir[:i] != "." {
				t.dir(dir[:i], 0o755)
			}
		}
	}
	t.file(rel, b.cfg.Resolv)
}

// attachKeep is attach for a mount that is filled afterwards.
func (b *builder) attachKeep(fd int, path string) error { return b.attach(fd, path, true) }
