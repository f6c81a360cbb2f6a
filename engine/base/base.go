// Package base keeps what the host had when a sandbox first changed a path: the
// base of a three-way comparison. The sandbox's keeper writes it while programs
// run, accept and reject bring it up to date, and whoever compares reads it.
//
// It is kept in the storage, which programs inside neither see nor reach. A
// record that is missing or damaged is "unknown", never an error: then the times
// of the two files must do.
package base

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// Dir is the name of the directory in a sandbox's storage.
const Dir = "base"

// The files in it.
const (
	logFile  = "log"     // records, see codec.go
	packFile = "content" // contents, one after the other
)

// Record is what is known about one path.
type Record struct {
	Path string // in the sandbox, and on the host
	// Host is the host's entry as it was; xattrs are not kept.
	Host entry.Entry
	// Print is that of its content; "" when it was not read (too large).
	Print entry.Print
	// Deleted says that the sandbox deleted the path, after SinceNs.
	Deleted bool
	// SinceNs is a moment, in nanoseconds since 1970, at which the sandbox had
	// not yet touched the path.
	SinceNs int64

	gone         bool // the path has no record any more
	offset, size int64
}

// Unknown is the print of a record that says: both sides changed this path, and
// nobody knows from what. It is never equal to another print.
const Unknown entry.Print = "?"

// HasContent reports whether the content itself was kept.
func (r Record) HasContent() bool { return r.offset > 0 }

// SameHost reports whether the host's entry still is the very one of the
// record: same inode, size and times, so that nothing has to be read.
func (r Record) SameHost(now entry.Entry) bool {
	h := r.Host
	return h.Type == now.Type && h.Dev == now.Dev && h.Ino == now.Ino && h.Size == now.Size &&
		h.MtimeNs == now.MtimeNs && h.CtimeNs == now.CtimeNs
}

// Set is all records of a sandbox as they were when it was loaded. The zero Set
// and a nil one are empty.
type Set struct {
	dir   string
	data  []byte
	once  sync.Once
	index map[string]int // path: offset of its newest record in data
}

// Load reads the records below dir, STORAGE/NAME/base. A directory that is not
// there gives an empty set.
func Load(dir string) (*Set, error) {
	s := &Set{dir: dir}
	data, err := os.ReadFile(filepath.Join(dir, logFile))
	if err != nil {
		if os.IsNotExist(err) {
			return s, nil
		}
		return s, err
	}
	s.data = data
	return s, nil
}

// Get finds the record of a path.
func (s *Set) Get(path string) (Record, bool) {
	if s == nil || len(s.data) == 0 {
		return Record{}, false
	}
	s.once.Do(s.build)
	at, ok := s.index[path]
	if !ok {
		return Record{}, false
	}
	r, ok := decode(s.data[at:])
	return r, ok
}

func (s *Set) build() {
	s.index = make(map[string]int, len(s.data)/128)
	for at := 0; at < len(s.data); {
		path, flags, n, ok := peek(s.data[at:])
		if !ok {
			break // a torn tail: what follows was not finished
		}
		if flags&flagGone != 0 {
			delete(s.index, string(path))
		} else {
			s.index[string(path)] = at
		}
		at += n
	}
}

// Paths calls do with every path that has a record, in no order.
func (s *Set) Paths(do func(path string)) {
	if s == nil {
		return
	}
	s.once.Do(s.build)
	for path := range s.index {
		do(path)
	}
}

// Content reads the content that was kept, and checks it against the print.
func (s *Set) Content(r Record) ([]byte, bool) {
	if s == nil || !r.HasContent() {
		return nil, false
	}
	fd, err := unix.Open(filepath.Join(s.dir, packFile), unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	data := make([]byte, r.size)
	for done := int64(0); done < r.size; {
		n, err := unix.Pread(fd, data[done:], r.offset-1+done)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return nil, false
		}
		done += int64(n)
	}
	return data, entry.PrintBytes(data) == r.Print
}
