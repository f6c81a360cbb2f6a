package keeper

import (
	"bytes"
	"log"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/engine/entry"
)

// maxPrint is the largest file of which a fingerprint is taken.
const maxPrint = 16 << 20

// capture writes down what the host has at the paths that the sandbox touches
// for the first time.
type capture struct {
	w     *base.Writer
	known map[string]bool // paths with a record
	seen  map[string]bool // paths that were found at the beginning; nil later
	// quiet is a moment before which everything that happened is dealt with.
	quiet int64
	buf   []byte
}

// newCapture begins with the records of earlier runs.
func newCapture(dir string) (*capture, error) {
	set, err := base.Load(dir)
	if err != nil {
		return nil, err
	}
	w, err := base.NewWriter(dir)
	if err != nil {
		return nil, err
	}
	c := &capture{w: w, known: map[string]bool{}, seen: map[string]bool{}}
	set.Paths(func(path string) { c.known[path] = true })
	return c, nil
}

// begun forgets what the upper trees hold no more: those paths are the host's
// again, and get a new base when they are touched again.
func (c *capture) begun() {
	for path := range c.known {
		if !c.seen[path] {
			c.left(path)
		}
	}
	c.seen = nil
}

// touched is called with every upper entry that appears at a path.
func (c *capture) touched(host int, path string, up entry.Entry) {
	if c.seen != nil {
		c.seen[path] = true
	}
	if c.known[path] {
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
	r := base.Record{Path: path, Host: lo, SinceNs: c.quiet}
	born := up.BtimeNs
	if up.Whiteout() {
		// All whiteouts of a mount are one inode, which says nothing about the
		// time of this one.
		r.Deleted, born = true, c.quiet
	}
	if born == 0 || lo.CtimeNs >= born {
		return // the host may have changed since the sandbox looked at it
	}
	var content []byte
	switch lo.Type {
	case entry.Symlink:
		r.Print = lo.Print()
	case entry.File:
		var ok bool
		if content, ok = c.read(dirfd, name, &r); !ok {
			return
		}
	case entry.Dir:
		if !r.Deleted {
			return
		}
	default:
		return
	}
	c.put(r, content)
}

// read takes the fingerprint of the host's file, and its content when it is a
// text of which two versions could be merged. It is not valid when somebody
// wrote to the file meanwhile.
func (c *capture) read(dirfd int, name string, r *base.Record) (content []byte, ok bool) {
	if r.Host.Size > maxPrint {
		return nil, true // its size and times must do
	}
	f, e, err := entry.OpenFile(dirfd, name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if r.Host.Size > base.MaxContent {
		r.Print, err = entry.PrintFd(int(f.Fd()))
	} else {
		if cap(c.buf) < base.MaxContent+1 {
			c.buf = make([]byte, base.MaxContent+1)
		}
		n := 0
		for n < len(c.buf[:cap(c.buf)]) {
			k, rerr := unix.Pread(int(f.Fd()), c.buf[n:cap(c.buf)], int64(n))
			if rerr == unix.EINTR {
				continue
			}
			if rerr != nil || k == 0 {
				err = rerr
				break
			}
			n += k
		}
		content = c.buf[:n]
		r.Print = entry.PrintBytes(content)
	}
	if err != nil {
		return nil, false
	}
	after, err := entry.OfFd(int(f.Fd()))
	if err != nil || after.CtimeNs != e.CtimeNs || after.Size != e.Size || e.Ino != r.Host.Ino || e.CtimeNs != r.Host.CtimeNs {
		return nil, false
	}
	if r.Deleted || bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0 {
		content = nil // nothing to merge with
	}
	return content, true
}

func (c *capture) put(r base.Record, content []byte) {
	if err := c.w.Put(r, content); err != nil {
		log.Print(err)
		return
	}
	c.known[r.Path] = true
}

// left is called when a path is the host's again.
func (c *capture) left(path string) {
	if !c.known[path] {
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
	if err := c.w.Flush(); err != nil {
		log.Print(err)
	}
	c.quiet = now.UnixNano()
}
