package keeper

import (
	"log"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/engine/entry"
)

// maxPrint is the largest file of which a fingerprint is taken.
const maxPrint = 16 << 20

// maxDeleted is the same for a file that was deleted: programs delete many at
// once, and the fingerprint only spares the user a false alarm.
const maxDeleted = 64 << 10

// clockStep is how far the clock of a file system may lag behind ours: a tick.
const clockStep = int64(10 * time.Millisecond)

// quietFile is the file in the directory of bases whose time says until when
// all that programs did is written down.
const quietFile = "quiet"

// mark is what is remembered of a path that has a record: nil for most. Of a
// deletion it is the host's entry, because a path that comes back, as git
// writes files, needs a whole record.
type mark *entry.Entry

// capture writes down what the host has at the paths that the sandbox touches
// for the first time.
type capture struct {
	w     *base.Writer
	tail  *base.Tail
	dir   string
	xattr string
	known map[string]mark // paths with a record
	// seen are the paths that were found at the beginning, and what hides the
	// host's paths below it; nil later.
	seen, covers map[string]bool
	// late says that events may have been missed.
	late  bool
	since int64 // when the run began
	// quiet is a moment before which everything that happened is dealt with.
	quiet int64
	buf   [2][]byte
}

// newCapture begins with the records of earlier runs. since is when the run
// began: nothing happened in the sandbox before it that was not written down,
// nor in the next few milliseconds, while it was being built.
func newCapture(dir, xattr string, since int64) (*capture, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, err
	}
	w, err := base.NewWriter(dir)
	if err != nil {
		return nil, err
	}
	c := &capture{
		w: w, tail: base.NewTail(dir), dir: dir, xattr: xattr, quiet: since, since: since,
		known: map[string]mark{}, seen: map[string]bool{}, covers: map[string]bool{},
	}
	if info, err := os.Lstat(filepath.Join(dir, quietFile)); err == nil {
		c.quiet = max(c.quiet, info.ModTime().UnixNano()-clockStep)
	}
	if err := w.Compact(); err != nil {
		log.Print(err)
	}
	c.follow()
	return c, nil
}

// follow takes note of what an accept, a reject or an undo wrote: it is the
// base from then on.
func (c *capture) follow() {
	_ = c.tail.Next(func(path string, gone, deleted bool) {
		old, had := c.known[path]
		switch {
		case gone:
			delete(c.known, path)
		case deleted && had && old != nil: // our own
		default:
			c.known[path] = nil
		}
	})
}

// begun forgets what the upper trees hold no more: those paths are the host's
// again, and get a new base when they are touched again. What the sandbox does
// not see of the host stays.
func (c *capture) begun() {
	for path := range c.known {
		if !c.seen[path] && !c.covered(path) {
			c.left(path)
		}
	}
	c.seen, c.covers = nil, nil
}

func (c *capture) covered(path string) bool {
	for dir := parent(path); dir != "/" && dir != ""; dir = parent(dir) {
		if c.covers[dir] {
			return true
		}
	}
	return false
}

// covering notes, at the beginning, a path whose host content is not seen.
func (c *capture) covering(path string) {
	if c.covers != nil && path != "" {
		c.covers[path] = true
	}
}

// touched is called with every upper entry that appears, and the path that it
// has on the host. Since synced, programs see there what the host has, except
// that a file which took another's place may still be the old one for them.
func (c *capture) touched(host int, path string, updir int, upname string, up entry.Entry, synced int64) {
	if c.seen != nil {
		c.seen[path] = true
		if up.Type != entry.Dir {
			c.covering(path)
		}
	}
	gone, known := c.known[path]
	if known && (gone == nil || up.Type != entry.File) {
		return // the base is what the host had at the first time
	}
	if up.Type != entry.File && up.Type != entry.Symlink && !up.Whiteout() {
		return
	}
	dirfd, name, err := entry.OpenParent(host, path)
	if err != nil {
		return
	}
	defer unix.Close(dirfd)
	lo, err := entry.At(dirfd, name)
	if err != nil || !lo.Exists() {
		return
	}
	r := base.Record{Path: path, Host: lo, SinceNs: c.quiet, Deleted: up.Whiteout()}
	if known {
		if r.Host = *gone; !r.SameHost(lo) {
			return // the content that was deleted is not there any more
		}
	} else if !c.before(lo, updir, upname, up) || replaced(lo, up, synced) {
		if up.Type == entry.File && lo.Type == entry.File && sameFile(updir, upname, up, dirfd, name, lo) {
			// Whatever came first: both sides begin with this.
		} else {
			c.missed(&r, up)
			return
		}
	}
	c.record(&r, dirfd, name)
}

// before reports whether the host's entry is surely what the sandbox had when
// it made up.
func (c *capture) before(lo entry.Entry, updir int, upname string, up entry.Entry) bool {
	switch {
	case lo.CtimeNs < c.quiet:
		return true // nothing happened inside since it changed last
	case up.Whiteout():
		// All whiteouts of a mount are one inode, which says nothing about the
		// time of this one.
		return false
	case up.BtimeNs == 0 || lo.CtimeNs >= up.BtimeNs:
		return false
	}
	// A program may have put another file in the place of the one that was
	// copied up. That was seen, unless events were missed.
	return !c.late || c.copiedUp(updir, upname)
}

// replaced reports whether the host's file may have come into the place of the
// one that a program saw: the kernel keeps what was looked up before. A copy
// that nobody wrote to yet has the time and size of what was copied.
func replaced(lo, up entry.Entry, synced int64) bool {
	if up.Type != entry.File || lo.Type != entry.File || lo.BtimeNs < synced {
		return false
	}
	return up.MtimeNs != lo.MtimeNs || up.Size != lo.Size
}

// copiedUp reports whether overlayfs made the inode of an upper file as a copy.
func (c *capture) copiedUp(updir int, upname string) bool {
	_, err := unix.Lgetxattr("/proc/self/fd/"+strconv.Itoa(updir)+"/"+upname, c.xattr+"origin", nil)
	return err == nil
}

// missed notes that the base of a path is lost: the host's entry is newer than
// the sandbox's. Without the note a later look would find it older than a file
// that a program puts in its place.
func (c *capture) missed(r *base.Record, up entry.Entry) {
	if up.Whiteout() || r.Host.CtimeNs == up.BtimeNs {
		return // nobody knows which was first
	}
	r.Host = entry.Entry{Type: r.Host.Type}
	c.put(*r, nil)
}

func (c *capture) record(r *base.Record, dirfd int, name string) {
	var content []byte
	switch r.Host.Type {
	case entry.Symlink:
		r.Print = r.Host.Print()
	case entry.File:
		var ok bool
		if content, ok = c.read(dirfd, name, r); !ok {
			return
		}
	case entry.Dir:
		if !r.Deleted {
			return
		}
	default:
		return
	}
	c.put(*r, content)
}

func (c *capture) put(r base.Record, content []byte) {
	if err := c.w.Put(r, content); err != nil {
		log.Print(err)
		return
	}
	c.known[r.Path] = nil
	if r.Deleted {
		c.known[r.Path] = &r.Host
	}
}

// left is called when a path is the host's again.
func (c *capture) left(path string) {
	if _, ok := c.known[path]; !ok {
		return
	}
	if err := c.w.Forget(path); err != nil {
		log.Print(err)
		return
	}
	delete(c.known, path)
}

// settled writes down what was seen so far. now is a moment before which
// nothing is left to be dealt with.
func (c *capture) settled(now time.Time) {
	c.flush()
	// Never back: a directory may have told a later moment.
	c.quiet = max(c.quiet, now.UnixNano()-clockStep)
	path := filepath.Join(c.dir, quietFile)
	if err := os.Chtimes(path, now, now); os.IsNotExist(err) {
		if f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW, 0o600); err == nil {
			_ = f.Close()
			_ = os.Chtimes(path, now, now)
		}
	}
}

func (c *capture) flush() {
	if err := c.w.Flush(); err != nil {
		log.Print(err)
	}
}
