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
	"sync/atomic"

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
	asked atomic.Int32 // how often Get was called, as far as it matters
	once  sync.Once
	index map[string]int // path: offset of its newest record in data
}

// fewQuestions are answered by reading through the records. An index of 100,000
// costs as much as ten of them.
const fewQuestions = 4

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
	at := -1
	if s.asked.Load() < fewQuestions && s.asked.Add(1) <= fewQuestions {
		at = s.find(path)
	} else {
		s.once.Do(s.build)
		if found, ok := s.index[path]; ok {
			at = found
		}
	}
	if at < 0 {
		return Record{}, false
	}
	r, ok := decode(s.data[at:])
	return r, ok
}

// each calls do with every record: its path, whether it says that the path has
// none any more, and where it is. A torn tail ends it: what follows was not
// finished.
func (s *Set) each(do func(path []byte, gone bool, at int)) {
	for at := 0; at < len(s.data); {
		path, flags, n, ok := peek(s.data[at:])
		if !ok {
			return
		}
		do(path, flags&flagGone != 0, at)
		at += n
	}
}

// find gives where the newest record of a path is, -1 for none. Only records of
// that path are checked: the others are passed over by their lengths.
func (s *Set) find(path string) int {
	found := -1
	for at := 0; at < len(s.data); {
		body, ok := boundsOf(s.data[at:])
		if !ok {
			break
		}
		c := cursor{rest: body[1:]}
		if string(c.text()) == path {
			_, flags, _, ok := peek(s.data[at:])
			if !ok {
				break
			}
			if found = at; flags&flagGone != 0 {
				found = -1
			}
		}
		at += headerBytes + len(body)
	}
	return found
}

func (s *Set) build() {
	s.index = make(map[string]int, len(s.data)/128)
	text := string(s.data) // one copy, of which all paths are parts
	s.each(func(p []byte, gone bool, at int) {
		begin := cap(s.data) - cap(p) // p is a part of data
		path := text[begin : begin+len(p)]
		if gone {
			delete(s.index, path)
		} else {
			s.index[path] = at
		}
	})
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
