package renames

import (
	"bytes"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// world is what a plain command has and keeps: a caller that differs has given
// up, or changed, something that init's threads have not.
type world struct {
	user, mount nsID
	filters     string // number of seccomp filters, as /proc says it
}

type nsID struct{ dev, ino uint64 }

// worldOf reads the world of a thread. proc is /proc, who a name in it.
func worldOf(proc int, who string) (w world, ok bool) {
	var here, root unix.Stat_t
	if unix.Fstatat(proc, who+"/root", &here, 0) != nil || unix.Stat("/", &root) != nil ||
		here.Dev != root.Dev || here.Ino != root.Ino {
		return w, false
	}
	if w.user, ok = namespace(proc, who, "user"); !ok {
		return w, false
	}
	if w.mount, ok = namespace(proc, who, "mnt"); !ok {
		return w, false
	}
	w.filters, ok = statusField(proc, who, "Seccomp_filters")
	return w, ok && w.filters != ""
}

func namespace(proc int, who, kind string) (nsID, bool) {
	var st unix.Stat_t
	err := unix.Fstatat(proc, who+"/ns/"+kind, &st, 0)
	return nsID{st.Dev, st.Ino}, err == nil
}

// statusField is one value of /proc/PID/status.
func statusField(proc int, who, key string) (string, bool) {
	fd, err := unix.Openat(proc, who+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	var buf [8192]byte
	n := 0
	for n < len(buf) {
		k, err := unix.Read(fd, buf[n:])
		if err != nil || k == 0 {
			break
		}
		n += k
	}
	return fieldOf(buf[:n], key)
}

func fieldOf(status []byte, key string) (string, bool) {
	for line := range bytes.Lines(status) {
		if v, ok := bytes.CutPrefix(line, []byte(key+":")); ok {
			return string(bytes.TrimSpace(v)), true
		}
	}
	return "", false
}

// landlocked remembers which commands have entered a Landlock domain: nothing in
// /proc shows it. The mark is on the command, a child of init, with all of its
// descendants. Who is nobody's descendant any more (an orphan) may come from any
// of them, so one mark is a mark on all orphans.
type landlocked struct {
	isCommand func(pid int) bool

	mu    sync.Mutex
	marks map[int]bool
}

// maxAncestors is beyond any real chain of processes.
const maxAncestors = 10_000

// mark notes the command that a thread belongs to.
func (l *landlocked) mark(proc, pid int) {
	top := commandOf(proc, pid)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.marks == nil {
		l.marks = map[int]bool{}
	}
	l.marks[top] = true // 0, when it is not known, marks all orphans as any mark does
}

// has reports whether a thread may be in a Landlock domain.
func (l *landlocked) has(proc, pid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.marks) == 0 {
		return false
	}
	top := commandOf(proc, pid)
	return top == 0 || l.marks[top] || !l.isCommand(top)
}

// commandOf returns the ancestor of a thread that is a child of init, or 0.
func commandOf(proc, pid int) int {
	for range maxAncestors {
		who := strconv.Itoa(pid)
		text, ok := statusField(proc, who, "PPid")
		parent, err := strconv.Atoi(text)
		if !ok || err != nil {
			return 0
		}
		if parent <= 1 {
			text, _ = statusField(proc, who, "Tgid")
			top, _ := strconv.Atoi(text) // 0 when it is gone
			return top
		}
		pid = parent
	}
	return 0
}
