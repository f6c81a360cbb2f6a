package renames

import (
	"log"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/harden"
)

// errLeave says that the kernel shall do the call.
const errLeave = unix.Errno(1 << 20)

// move is one rename of a directory.
type move struct {
	src, dst         string // as the caller wrote them; relative to the bases
	srcBase, dstBase int    // O_PATH, or AT_FDCWD for an absolute path
	flags            uint
	wanted           func() bool // the caller still waits

	from, to place
}

// place is a name in an open directory.
type place struct {
	dir  int
	name string
}

func (m *move) close() {
	for _, fd := range []int{m.srcBase, m.dstBase} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// carryOut does a move on a thread of its own, which ends with it: one without
// any capability, as the commands are.
func (l *Listener) carryOut(m *move) unix.Errno {
	result := make(chan unix.Errno)
	go func() {
		runtime.LockOSThread()
		if err := becomeCommand(); err != nil {
			log.Printf("renames: %v", err)
			result <- errLeave
			return
		}
		result <- l.rename(m)
	}()
	return <-result
}

// becomeCommand takes from the calling thread what commands do not have.
func becomeCommand() error {
	if err := harden.DropCapabilities(); err != nil {
		return err
	}
	// the umask belongs to all threads otherwise, and the spawner changes it
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	unix.Umask(0)
	return nil
}

// rename is renameat2 for a directory.
func (l *Listener) rename(m *move) unix.Errno {
	var ok bool
	if m.from, ok = parent(m.srcBase, m.src); !ok {
		return errLeave
	}
	defer unix.Close(m.from.dir)
	if m.to, ok = parent(m.dstBase, m.dst); !ok {
		return errLeave
	}
	defer unix.Close(m.to.dir)
	// Every other answer (EACCES, EINVAL, EBUSY, EEXIST, 0 for what the sandbox
	// made itself) is the kernel's.
	if errno := m.plain(); errno != unix.EXDEV {
		return errno
	}
	if !m.inOneOverlay() {
		return unix.EXDEV
	}
	l.moving.Lock()
	defer l.moving.Unlock()
	if !m.wanted() {
		return unix.EINTR // nobody hears it
	}
	// Again: the one before may have taken the source, which is how programs
	// claim something.
	if errno := m.plain(); errno != unix.EXDEV {
		return errno
	}
	if errno := m.checkTarget(); errno != 0 {
		return errno
	}
	return l.emulate(m)
}

func (m *move) plain() unix.Errno {
	return errnoOf(unix.Renameat2(m.from.dir, m.from.name, m.to.dir, m.to.name, m.flags))
}

// parent opens the directory of a path as the caller's own call would, except
// for magic links: /proc/self would be init.
func parent(base int, path string) (place, bool) {
	path = strings.TrimRight(path, "/")
	dir, name := ".", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, name = path[:i+1], path[i+1:]
	}
	if name == "" || name == "." || name == ".." {
		return place{-1, ""}, false
	}
	fd, err := unix.Openat2(base, dir, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS,
	})
	return place{fd, name}, err == nil
}

// inOneOverlay tells the EXDEV of an overlay from that of two mounts.
func (m *move) inOneOverlay() bool {
	var fs unix.Statfs_t
	if unix.Fstatfs(m.from.dir, &fs) != nil || fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return false
	}
	here := mountID(m.from.dir, "")
	return here != 0 && here == mountID(m.to.dir, "") && here == mountID(m.from.dir, m.from.name)
}

func mountID(fd int, name string) uint64 {
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == "" {
		flags = unix.AT_EMPTY_PATH
	}
	if unix.Statx(fd, name, flags, unix.STATX_MNT_ID, &st) != nil || st.Mask&unix.STATX_MNT_ID == 0 {
		return 0
	}
	return st.Mnt_id
}

// checkTarget refuses a target that is not empty: an overlay says so only after
// its EXDEV.
func (m *move) checkTarget() unix.Errno {
	fd, err := openDir(m.to.dir, m.to.name)
	switch err {
	case nil:
	case unix.ENOENT:
		return 0
	default:
		return unix.EXDEV
	}
	defer unix.Close(fd)
	names, err := readNames(fd)
	if err != nil {
		return unix.EXDEV
	}
	if len(names) > 0 {
		return unix.ENOTEMPTY
	}
	return 0
}

// emulate makes the new tree, puts it in place and drains the old one.
func (l *Listener) emulate(m *move) unix.Errno {
	t, errno := survey(m.from)
	if errno != 0 {
		return l.refuse(m, "look", errno)
	}
	rec, err := l.journal.begin(m)
	if err != nil {
		return l.refuse(m, "journal", errnoOf(err))
	}
	defer l.journal.end()
	temp := place{m.to.dir, rec.Temp}
	b := builder{root: temp, tree: t}
	root, err := b.dir(m.from, temp)
	if err == nil {
		err = unix.Renameat2(temp.dir, temp.name, m.to.dir, m.to.name, m.flags)
	}
	if err != nil {
		if err := removeTree(temp); err != nil {
			log.Printf("renames: remove what was built: %v", err)
		}
		return l.refuse(m, "build", errnoOf(err))
	}
	l.journal.committed(rec)
	d := drainer{}
	if err := d.dir(m.from, m.to, root); err != nil && err != unix.ENOENT {
		log.Printf("renames: %q was renamed to %q, but some of it is still there: %v", m.src, m.dst, err)
	}
	return 0
}

// refuse answers for a move that was not begun or was undone. EXDEV makes
// programs copy, as they would without all of this; the other answers are those
// that no copy would do better with.
func (l *Listener) refuse(m *move, step string, errno unix.Errno) unix.Errno {
	log.Printf("renames: %s %q: %v", step, m.src, errno)
	switch errno {
	case unix.ENOSPC, unix.EDQUOT, unix.ENAMETOOLONG, unix.EEXIST, unix.ENOTEMPTY:
		return errno
	}
	return unix.EXDEV
}

func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(unix.Errno); ok { //nolint:errorlint // system calls return bare errnos
		return errno
	}
	return unix.EIO
}
