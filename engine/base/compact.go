package base

import (
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// compactAt is the size from which files are written anew when most of them is
// of no use any more.
const compactAt = 4 << 20

// Compact writes both files anew when more than half of one is about records
// that were replaced or forgotten. Who reads at the same time may find no
// content for a moment, which is never an error.
func (w *Writer) Compact() error { return w.compact(compactAt) }

func (w *Writer) compact(from int64) error {
	if err := w.begin(); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	defer w.unlock()
	set, err := Load(w.dir)
	if err != nil {
		return err
	}
	var records, contents int64
	set.Paths(func(path string) {
		if r, ok := set.Get(path); ok {
			records += int64(len(encode(nil, r)))
			contents += r.size
		}
	})
	wasteful := func(all, used int64) bool { return all >= from && all > 2*used }
	if !wasteful(int64(len(set.data)), records) && !wasteful(w.start, contents) {
		return nil
	}
	return fault.Wrap(fault.Failed, "write anew", w.dir, w.rewrite(set))
}

// rewrite puts the contents first: until the log follows, its records find
// other contents than they are of.
func (w *Writer) rewrite(set *Set) error {
	pack, err := os.OpenFile(filepath.Join(w.dir, packFile+".new"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer pack.Close()
	var log []byte
	end := int64(0)
	set.Paths(func(path string) {
		r, ok := set.Get(path)
		if !ok || err != nil {
			return
		}
		if r.HasContent() {
			var n int64
			n, err = io.Copy(pack, io.NewSectionReader(w.pack, r.offset-1, r.size))
			r.offset = end + 1
			end += n
		}
		log = encode(log, r)
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(w.dir, logFile+".new"), log, 0o600)
	}
	for _, name := range []string{packFile, logFile} {
		if err == nil {
			err = os.Rename(filepath.Join(w.dir, name+".new"), filepath.Join(w.dir, name))
		}
	}
	if err == nil {
		err = w.note(int64(len(log)))
	}
	return err
}
