package keeper

import (
	"encoding/binary"
	"errors"
	"log"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
)

// watchMask is what says that a path was touched for the first time: a copy-up
// and a new file are CREATE or MOVED_TO, a whiteout is MOVED_TO, or comes
// without a word where a MOVED_FROM was, and DELETE leaves the path to the host
// again. Writes to what is there already wake nobody.
const watchMask = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_MOVED_FROM | unix.IN_DELETE | unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// place is a watched directory of an upper tree.
type place struct {
	layer *layer
	path  string // in the sandbox
	// host is where the host has its content, which is not path below a directory
	// that the kernel renamed; "" when the host has no such directory, so that
	// what appears in it has no base.
	host string
	// hidden says that the sandbox sees nothing of what the host has there.
	hidden bool
}

// layer is one upper tree, held open.
type layer struct {
	changes.Layer
	root int // O_PATH
	// synced is a moment since which programs see in it what the host has.
	synced int64
}

// watcher sees, from outside, what programs do to the upper trees.
type watcher struct {
	fd      int // inotify
	places  map[int32]place
	barrier int32
	// barrierDir is where those who wait for us leave their markers.
	barrierDir string
	stops      map[string]bool
	host       int // "/" of the host
	xattr      string
	full       bool
	layers     []*layer
	capture    *capture
	// woken is when a drain began whose first event is yet to come; 0 after it.
	woken int64
}

func newWatcher(tree changes.Tree, barrierDir string, c *capture) (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	w := &watcher{fd: fd, places: map[int32]place{}, stops: map[string]bool{}, xattr: tree.Xattr, capture: c, barrierDir: barrierDir}
	for _, l := range tree.Layers {
		w.stops[l.Host] = true
	}
	for _, m := range append([]string{tree.Storage}, tree.Masks...) {
		w.stops[m] = true
	}
	if w.host, err = entry.OpenRoot(); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	wd, err := unix.InotifyAddWatch(fd, barrierDir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
	if err != nil {
		w.close()
		return nil, err
	}
	w.barrier = int32(wd)
	return w, nil
}

func (w *watcher) close() {
	_ = unix.Close(w.fd)
	_ = unix.Close(w.host)
	for _, l := range w.layers {
		_ = unix.Close(l.root)
	}
}

// begin watches all that is there, and captures what is not too late for.
func (w *watcher) begin(tree changes.Tree) {
	storage, err := unix.Open(tree.Storage, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		log.Print(err)
		return
	}
	defer unix.Close(storage)
	for _, l := range tree.Layers {
		if tree.Masked(l.Host) {
			continue
		}
		root, err := entry.OpenBeneath(storage, l.Upper, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			continue // nothing is mounted over it in this run
		}
		w.layers = append(w.layers, &layer{Layer: l, root: root, synced: w.capture.since})
	}
	w.again()
}

// again looks at everything, because nothing is known yet or events were lost.
func (w *watcher) again() {
	w.capture.late = true
	defer func() { w.capture.late = false }()
	for _, l := range w.layers {
		w.enter(place{layer: l, path: l.Host, host: l.Host})
	}
}

// below is the path in the upper tree that stands for a path of the sandbox.
func (l *layer) below(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, l.Host), "/")
}

// enter watches a directory and everything below it, and looks at what is in
// it already: between the making of a directory and its watch no event comes.
// p is what its parent says of it.
func (w *watcher) enter(p place) {
	fd, err := entry.OpenBeneath(p.layer.root, p.layer.below(p.path), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		w.capture.covering(p.host) // it may be closed to us, and hold what has a base
		return
	}
	defer unix.Close(fd)
	w.mark(&p, fd)
	if p.hidden {
		w.capture.covering(p.host)
	}
	w.watch(fd, p)
	names, err := entry.ReadDir(fd)
	if err != nil {
		return
	}
	for _, n := range names {
		w.look(p, fd, n.Name)
	}
}

// mark corrects what a directory's parent says of it by what overlayfs wrote on
// the directory itself.
func (w *watcher) mark(p *place, fd int) {
	if to := w.attr(fd, "redirect"); to != "" {
		p.hidden = false
		if to[0] == '/' {
			p.host = join(strings.TrimSuffix(p.layer.Host, "/"), to[1:])
		} else if p.host != "" {
			p.host = join(parent(p.host), to)
		}
	} else if w.attr(fd, "opaque") == "y" {
		p.hidden = true
	}
	if p.host == "" {
		return
	}
	lower, err := entry.OpenDirNoLinks(w.host, p.host)
	if err != nil {
		p.host = ""
		return
	}
	_ = unix.Close(lower)
}

// attr reads one of overlayfs's own attributes. Programs inside cannot write
// them: theirs are stored under another name.
func (w *watcher) attr(fd int, name string) string {
	var b [unix.PathMax]byte
	n, err := unix.Fgetxattr(fd, w.xattr+name, b[:])
	if err != nil {
		return ""
	}
	return string(b[:n])
}

func (w *watcher) watch(fd int, p place) {
	if w.full {
		return
	}
	wd, err := unix.InotifyAddWatch(w.fd, "/proc/self/fd/"+strconv.Itoa(fd), watchMask)
	if err != nil {
		if errors.Is(err, unix.ENOSPC) {
			w.full = true
			log.Print("no more directories can be watched (fs.inotify.max_user_watches): the base of some files will be unknown")
		}
		return
	}
	w.places[int32(wd)] = p //nolint:gosec // the kernel's own number
}

// look deals with one name of an upper directory.
func (w *watcher) look(p place, dirfd int, name string) {
	path := join(p.path, name)
	if w.stops[path] {
		return
	}
	up, err := entry.At(dirfd, name)
	if err != nil || !up.Exists() {
		return
	}
	host := ""
	if p.host != "" {
		host = join(p.host, name)
		w.capture.touched(w.host, host, dirfd, name, up, p.layer.synced)
	}
	if up.Type == entry.Dir {
		w.enter(place{layer: p.layer, path: path, host: host, hidden: p.hidden})
	}
}

// read handles the events that are there, and gives the markers of those who
// wait. More says that there may be further events.
func (w *watcher) read(buf []byte) (markers []string, more bool) {
	n, err := unix.Read(w.fd, buf)
	if err != nil || n <= 0 {
		return nil, errors.Is(err, unix.EINTR)
	}
	for at := 0; at+unix.SizeofInotifyEvent <= n; {
		wd := int32(binary.NativeEndian.Uint32(buf[at:])) //nolint:gosec // the kernel's own number
		mask := binary.NativeEndian.Uint32(buf[at+4:])
		size := int(binary.NativeEndian.Uint32(buf[at+12:]))
		name := strings.TrimRight(string(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+size]), "\x00")
		at += unix.SizeofInotifyEvent + size
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			// Events of those who wait may be among what was lost.
			markers = append(markers, w.waiting()...)
			w.again()
		case wd == w.barrier:
			w.woken = 0
			w.sync(name)
			markers = append(markers, name)
		case mask&unix.IN_IGNORED != 0:
			delete(w.places, wd)
		default:
			w.event(wd, mask, name)
		}
	}
	return markers, true
}

func (w *watcher) event(wd int32, mask uint32, name string) {
	p, ok := w.places[wd]
	if !ok || name == "" {
		return
	}
	if mask&unix.IN_DELETE != 0 {
		// In a hidden directory nothing of the host's comes to light, so what
		// the sandbox began with remains what it was.
		if p.host != "" && !p.hidden {
			w.capture.left(join(p.host, name))
		}
		return
	}
	if p.host == "" && mask&unix.IN_ISDIR == 0 {
		return // the host has nothing there
	}
	fd, err := entry.OpenBeneath(p.layer.root, p.layer.below(p.path), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		// What was deleted one by one is gone with its directory by now.
		if p.host != "" && !w.stops[join(p.path, name)] {
			w.capture.touched(w.host, join(p.host, name), -1, name, whiteout, p.layer.synced)
		}
		return
	}
	defer unix.Close(fd)
	w.first(fd)
	w.look(p, fd, name)
}

var whiteout = entry.Entry{Type: entry.Char}

// first uses that a directory says when its names changed last. For the first
// event after a rest that is when it happened, so that what came before is
// older: without it a host file that was edited during the rest, and deleted
// inside afterwards, would look like one that was edited after its deletion.
func (w *watcher) first(dirfd int) {
	woken := w.woken
	w.woken = 0
	if woken == 0 {
		return
	}
	if e, err := entry.OfFd(dirfd); err == nil && e.MtimeNs <= woken {
		w.capture.quiet = max(w.capture.quiet, e.MtimeNs)
	}
}
