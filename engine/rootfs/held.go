package rootfs

import (
	"sync"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// maxHeld is how many directories are kept open. Work goes through a tree
// directory by directory, so a few are enough.
const maxHeld = 64

// heldDirs are directories that were looked up, by path. One that is moved
// stays the directory that it is, as it does for every other place.
type heldDirs struct {
	mu   sync.Mutex
	open map[string]*heldDir
}

// heldDir is one open directory and its users. The map is one of them.
type heldDir struct {
	all   *heldDirs
	fd    int
	users int // guarded by all.mu
}

// Hold keeps directories that were looked up open for the next look, until
// Hold(false) or Forget. Only the first look walks the path, so it is for a
// stretch of work in which nobody is expected to move them, and the caller
// says so (Forget) when he moves one himself.
func (r *Root) Hold(on bool) {
	r.Forget()
	r.dirs = nil
	if on {
		r.dirs = &heldDirs{open: map[string]*heldDir{}}
	}
}

// Forget lets go of the directories that are held: the next look at each
// walks its path again.
func (r *Root) Forget() {
	if r.dirs == nil {
		return
	}
	r.dirs.mu.Lock()
	defer r.dirs.mu.Unlock()
	r.dirs.drop()
}

func (h *heldDirs) drop() {
	for path, d := range h.open {
		delete(h.open, path)
		d.leave()
	}
}

func (h *heldDirs) at(root int, path string) (At, error) {
	dir, name := entry.Split(path)
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.open[dir]
	if d == nil || name == "" || name == "." || name == ".." {
		fd, name, err := entry.OpenParent(root, path)
		if err != nil {
			return At{}, err
		}
		if len(h.open) >= maxHeld {
			h.drop()
		}
		d = &heldDir{all: h, fd: fd, users: 1}
		h.open[dir] = d
		d.users++
		return At{Dir: fd, Name: name, Path: path, held: d}, nil
	}
	d.users++
	return At{Dir: d.fd, Name: name, Path: path, held: d}, nil
}

func (d *heldDir) release() {
	d.all.mu.Lock()
	defer d.all.mu.Unlock()
	d.leave()
}

func (d *heldDir) leave() {
	if d.users--; d.users == 0 {
		_ = unix.Close(d.fd)
	}
}
