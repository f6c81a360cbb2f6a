package renames

import (
	"log"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// maxMoves bounds the moves that wait or work; a directory beyond gets the
// kernel's answer.
const maxMoves = 64

// Listener is the init's end of the filter.
type Listener struct {
	fd    int
	proc  int // /proc, as it was before any command ran
	world world

	journal *journal
	marks   landlocked
	slots   chan struct{}
	moving  sync.Mutex // one move at a time: of two racers for one source one wins
}

// Install loads the filter on the calling thread, for its future children.
//
// Preconditions: the goroutine is locked to its OS thread, which has
// no_new_privs, is inside its Landlock domain and has loaded all other filters
// that commands start with.
func Install() (*Listener, error) {
	proc, err := unix.Open("/proc", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	fd, err := install(filter(nativeArch, reported()))
	if err != nil {
		_ = unix.Close(proc)
		return nil, err
	}
	l := &Listener{fd: fd, proc: proc, slots: make(chan struct{}, maxMoves)}
	var ok bool
	if l.world, ok = worldOf(proc, "thread-self"); !ok {
		log.Print("renames: /proc does not say what a command is; directories are left to the kernel")
	}
	return l, nil
}

// Serve answers reports for ever. storage is the sandbox's directory on the
// host, for the journal. isCommand tells a command that init started from an
// orphan that it inherited.
//
// The filter's descriptor is never closed: the kernel would then fail every
// rename with ENOSYS.
func (l *Listener) Serve(storage int, isCommand func(pid int) bool) {
	l.journal = &journal{dir: storage}
	l.marks.isCommand = isCommand
	for range 2 { // one may wait for a slow directory of a path
		go l.loop()
	}
}

func (l *Listener) loop() {
	var buf [pathMax]byte
	var n notif
	for {
		switch err := receive(l.fd, &n); err {
		case nil:
			l.one(&n, &buf)
		case unix.EINTR, unix.ENOENT: // the caller died before its report was read
		default:
			log.Printf("renames: receive: %v", err)
			return
		}
	}
}

func (l *Listener) leave(id uint64) { send(l.fd, answer{id: id, flags: flagContinue}) }

// one answers a report or hands it on. The first half is what every rename of
// a file waits for.
func (l *Listener) one(n *notif, buf *[pathMax]byte) {
	pid := int(n.pid)
	if n.arch == nativeArch && n.nr == unix.SYS_LANDLOCK_RESTRICT_SELF {
		l.marks.mark(l.proc, pid)
		l.leave(n.id)
		return
	}
	c, ok := parse(n)
	who := strconv.Itoa(pid)
	if ok {
		// Before any path of the caller's is walked: it may lead into a file
		// system that the caller itself serves, but only in a namespace of its own.
		var mnt nsID
		mnt, ok = namespace(l.proc, who, "mnt")
		ok = ok && mnt == l.world.mount
	}
	src := ""
	if ok {
		src, ok = readPath(pid, c.oldName, buf)
	}
	if !ok || !l.isDir(who, src, c.oldDir) {
		l.leave(n.id)
		return
	}
	dst, ok := readPath(pid, c.newName, buf)
	if !ok || !l.directory(n.id, pid, who, move{src: src, dst: dst, flags: c.flags}, c) {
		l.leave(n.id)
	}
}

// isDir looks at what the caller wants to rename, by the caller's own root,
// working directory and descriptors.
func (l *Listener) isDir(who, path string, dirfd int32) bool {
	var st unix.Stat_t
	base := who + "/root"
	if path[0] != '/' {
		base = baseOf(who, dirfd)
	}
	err := unix.Fstatat(l.proc, base+"/"+strings.TrimRight(path, "/"), &st, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func baseOf(who string, dirfd int32) string {
	if dirfd == unix.AT_FDCWD {
		return who + "/cwd"
	}
	return who + "/fd/" + strconv.Itoa(int(dirfd))
}

// directory starts the move of a directory. It reports false when that is left
// to the kernel.
func (l *Listener) directory(id uint64, pid int, who string, m move, c call) bool {
	if w, ok := worldOf(l.proc, who); !ok || w != l.world || l.marks.has(l.proc, pid) {
		return false
	}
	select {
	case l.slots <- struct{}{}:
	default:
		return false
	}
	var ok, ok2 bool
	m.srcBase, ok = l.openBase(who, m.src, c.oldDir)
	m.dstBase, ok2 = l.openBase(who, m.dst, c.newDir)
	if !ok || !ok2 || !valid(l.fd, id) {
		m.close()
		<-l.slots
		return false
	}
	m.wanted = func() bool { return valid(l.fd, id) }
	go func() {
		defer func() { <-l.slots }()
		defer m.close()
		switch errno := l.carryOut(&m); errno {
		case errLeave:
			l.leave(id)
		default:
			send(l.fd, answer{id: id, errno: -int32(errno)}) //nolint:gosec // an errno
		}
	}()
	return true
}

// openBase opens what a relative path starts from: what the caller itself holds.
func (l *Listener) openBase(who, path string, dirfd int32) (int, bool) {
	if path[0] == '/' {
		return unix.AT_FDCWD, true
	}
	fd, err := unix.Openat(l.proc, baseOf(who, dirfd), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return unix.AT_FDCWD, false
	}
	return fd, true
}
