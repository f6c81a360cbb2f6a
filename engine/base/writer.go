package base

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

const (
	// MaxContent is the largest file of which the content is kept. A larger one
	// is compared by its print.
	MaxContent = 1 << 20
	// maxPack bounds the contents of one sandbox.
	maxPack = 512 << 20
)

// Writer appends records. Several processes may: each batch is written under a
// lock.
type Writer struct {
	dir  string
	lock *os.File
	log  *os.File
	pack *os.File

	buf     []byte // records of this batch
	content []byte // contents of this batch
	start   int64  // where they will be in the pack
	locked  bool
}

// NewWriter opens, and makes, the directory dir, STORAGE/NAME/base.
func NewWriter(dir string) (*Writer, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return nil, fault.Wrap(fault.Failed, "make", dir, err)
	}
	w := &Writer{dir: dir}
	var err error
	if w.lock, err = w.open("lock", 0); err == nil {
		err = w.reopen()
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *Writer) open(name string, flag int) (*os.File, error) {
	path := filepath.Join(w.dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|flag|unix.O_NOFOLLOW, 0o600)
	return f, fault.Wrap(fault.Failed, "open", path, err)
}

// reopen opens the files that stand there now: another writer may have
// exchanged them.
func (w *Writer) reopen() error {
	for _, f := range []struct {
		at   **os.File
		name string
	}{{&w.log, logFile}, {&w.pack, packFile}} {
		if *f.at != nil {
			_ = (*f.at).Close()
		}
		var err error
		if *f.at, err = w.open(f.name, os.O_APPEND); err != nil {
			return err
		}
	}
	return nil
}

// exchanged reports whether another writer has put other files in the place of
// those that are open.
func (w *Writer) exchanged() bool {
	for _, f := range []*os.File{w.log, w.pack} {
		mine, err := f.Stat()
		if err != nil {
			return true
		}
		there, err := os.Lstat(f.Name())
		if err != nil || !os.SameFile(mine, there) {
			return true
		}
	}
	return false
}

// Close closes the files. What was not flushed is lost.
func (w *Writer) Close() {
	for _, f := range []*os.File{w.lock, w.log, w.pack} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Put adds a record to the batch; content is kept with it when there is room,
// and must be what Print is of. nil keeps none.
func (w *Writer) Put(r Record, content []byte) error {
	if err := w.begin(); err != nil {
		return err
	}
	r.offset, r.size, r.gone = 0, 0, false
	if content != nil && len(content) <= MaxContent && w.start+int64(len(w.content)+len(content)) <= maxPack {
		r.offset, r.size = w.start+int64(len(w.content))+1, int64(len(content))
		w.content = append(w.content, content...)
	}
	w.buf = encode(w.buf, r)
	if len(w.buf) > 1<<16 || len(w.content) > 1<<20 {
		return w.Flush()
	}
	return nil
}

// Keep gives a record in a form that Restore brings back, content included.
func (r Record) Keep() []byte { return encode(nil, r) }

// Restore adds a record that Keep gave; nil is no record of that path.
func (w *Writer) Restore(path string, kept []byte) error {
	r, ok := decode(kept)
	if !ok || r.Path != path {
		return w.Forget(path)
	}
	if err := w.begin(); err != nil {
		return err
	}
	w.buf = encode(w.buf, r)
	return nil
}

// Forget adds that a path has no record any more.
func (w *Writer) Forget(path string) error {
	if err := w.begin(); err != nil {
		return err
	}
	w.buf = encode(w.buf, Record{Path: path, Host: entry.Entry{Type: entry.None}, gone: true})
	return nil
}

func (w *Writer) begin() error {
	if w.locked {
		return nil
	}
	for {
		err := unix.Flock(int(w.lock.Fd()), unix.LOCK_EX)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fault.Wrap(fault.Failed, "lock", w.lock.Name(), err)
		}
		break
	}
	w.locked = true
	if w.exchanged() {
		if err := w.reopen(); err != nil {
			return err
		}
	}
	info, err := w.pack.Stat()
	if err != nil {
		return fault.Wrap(fault.Failed, "look at", w.pack.Name(), err)
	}
	w.start = info.Size()
	return w.mend()
}

// mend cuts off a record that somebody who was killed has not finished: what
// is appended behind it could not be read.
func (w *Writer) mend() error {
	info, err := w.log.Stat()
	if err != nil {
		return fault.Wrap(fault.Failed, "look at", w.log.Name(), err)
	}
	if info.Size() == w.known() {
		return nil
	}
	data, err := os.ReadFile(w.log.Name())
	if err != nil {
		return fault.Wrap(fault.Failed, "read", w.log.Name(), err)
	}
	good := 0
	for good < len(data) {
		_, _, n, ok := peek(data[good:])
		if !ok {
			break
		}
		good += n
	}
	if good < len(data) {
		if err := w.log.Truncate(int64(good)); err != nil {
			return fault.Wrap(fault.Failed, "mend", w.log.Name(), err)
		}
	}
	return w.note(int64(good))
}

// The lock file holds the length of the log up to which all is well, so that
// only a log of another length is read through.
func (w *Writer) known() int64 {
	var b [8]byte
	if n, err := w.lock.ReadAt(b[:], 0); err != nil || n != len(b) {
		return -1
	}
	size := int64(0)
	for i := range b {
		size |= int64(b[i]) << (8 * i)
	}
	return size
}

func (w *Writer) note(size int64) error {
	var b [8]byte
	for i := range b {
		b[i] = byte(size >> (8 * i))
	}
	_, err := unix.Pwrite(int(w.lock.Fd()), b[:], 0)
	return fault.Wrap(fault.Failed, "write", w.lock.Name(), err)
}

// Flush writes the batch: contents before the records that name them.
func (w *Writer) Flush() error {
	if !w.locked {
		return nil
	}
	defer w.unlock()
	if len(w.content) > 0 {
		if _, err := w.pack.Write(w.content); err != nil {
			return fault.Wrap(fault.Failed, "write", w.pack.Name(), err)
		}
	}
	if len(w.buf) == 0 {
		return nil
	}
	if _, err := w.log.Write(w.buf); err != nil {
		return fault.Wrap(fault.Failed, "write", w.log.Name(), err)
	}
	info, err := w.log.Stat()
	if err != nil {
		return fault.Wrap(fault.Failed, "look at", w.log.Name(), err)
	}
	return w.note(info.Size())
}

func (w *Writer) unlock() {
	w.buf, w.content, w.locked = w.buf[:0], w.content[:0], false
	_ = unix.Flock(int(w.lock.Fd()), unix.LOCK_UN)
}
