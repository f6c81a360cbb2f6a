package base

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Tail follows the log, so that one writer knows what the others wrote.
type Tail struct {
	path string
	ino  uint64
	at   int64
}

// NewTail begins at the beginning of the log of a directory.
func NewTail(dir string) *Tail { return &Tail{path: filepath.Join(dir, logFile)} }

// Next calls do for each record that was added since the last call: path is
// what it is about, gone says that it has no record any more, deleted that
// the record is of a deletion. A log that was written anew is read from its
// beginning.
func (t *Tail) Next(do func(path string, gone, deleted bool)) error {
	var st unix.Stat_t
	if err := unix.Lstat(t.path, &st); err != nil {
		return err
	}
	if st.Ino != t.ino || st.Size < t.at {
		t.ino, t.at = st.Ino, 0
	}
	if st.Size == t.at {
		return nil
	}
	f, err := os.OpenFile(t.path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	data := make([]byte, st.Size-t.at)
	n, err := f.ReadAt(data, t.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for data = data[:n]; ; {
		path, flags, size, ok := peek(data)
		if !ok {
			return nil // it is being written: the rest comes next time
		}
		do(string(path), flags&flagGone != 0, flags&flagDeleted != 0)
		data, t.at = data[size:], t.at+int64(size)
	}
}
