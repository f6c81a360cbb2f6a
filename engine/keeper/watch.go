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
// and a new file are CREATE or MOVED_TO, a whiteout is MOVED_TO, and DELETE
// leaves the path to the host again. Writes to what is there already wake
// nobody.
const watchMask = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_DELETE | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// place is a watched directory of an upper tree.
type place struct {
	layer *layer
	path  string // in the sandbox
	// lower says that the host has a directory there, so that what appears in
	// it may have a base.
	lower bool
}

// layer is one upper tree, held open.
type layer struct {
	changes.Layer
	root int // O_PATH
}

// watcher sees, from outside, what programs do to the upper trees.
type watcher struct {
	fd      int // inotify
	places  map[int32]place
	barrier int32
	stops   map[string]bool
	host    int // "/" of the host
	full    bool
	capture *capture
}

func newWatcher(tree changes.Tree, barrierDir string, c *capture) (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	w := &watcher{fd: fd, places: map[int32]place{}, stops: map[string]bool{}, capture: c}
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
	wd, err := unix.InotifyAddWatch(fd, barrierDir, unix.IN_CREATE|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW)
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
		w.enter(&layer{Layer: l, root: root}, l.Host)
	}
}

// enter watches a directory and everything below it, and looks at what is in
// it already: between the making of a directory and its watch no event comes.
func (w *watcher) enter(l *layer, path string) {
	rel := strings.TrimPrefix(strings.TrimPrefix(path, l.Host), "/")
	fd, err := entry.OpenBeneath(l.root, rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return // gone again
	}
	defer unix.Close(fd)
	p := place{layer: l, path: path}
	if lower, err := entry.OpenDirNoLinks(w.host, path); err == nil {
		p.lower = true
		_ = unix.Close(lower)
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

func (w *watcher) watch(fd int, p place) {
	if w.full {
		return
	}
	wd, err := unix.InotifyAddWatch(w.fd, "/proc/self/fd/"+strconv.Itoa(fd), watchMask&^unix.IN_DONT_FOLLOW)
	if err != nil {
		if errors.Is(err, unix.ENOSPC) {
			w.full = true
			log.Print("no more directories can be watched (fs.inotify.max_user_watches): the base of some files will be unknown")
		}
		return
	}
	w.places[int32(wd)] = p
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
	if up.Type == entry.Dir {
		w.enter(p.layer, path)
		if !p.lower {
			return
		}
	}
	if p.lower {
		w.capture.touched(w.host, path, up)
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
			w.again()
		case wd == w.barrier:
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
		w.capture.left(join(p.path, name))
		return
	}
	if !p.lower && mask&unix.IN_ISDIR == 0 {
		return // the host has nothing there
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(p.path, p.layer.Host), "/")
	fd, err := entry.OpenBeneath(p.layer.root, rel, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	w.look(p, fd, name)
}

// again looks at everything once more: events were lost.
func (w *watcher) again() {
	seen := map[*layer]bool{}
	for _, p := range w.places {
		seen[p.layer] = true
	}
	for l := range seen {
		w.enter(l, l.Host)
	}
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}
