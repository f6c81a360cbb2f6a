package changes

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/sensitive"
)

// Options are the wishes of one scan.
type Options struct {
	// Home is the user's home directory, for the catalogue of sensitive paths.
	Home string
	// NoRenames lists a moved file as one deleted and one added.
	NoRenames bool
}

// workers is what pays on the machines we measured: two walk an upper of
// 100,000 files in 0.75 of one worker's time, more gain nothing.
const workers = 2

// maxDepth bounds how deep a walk goes: each level holds two descriptors, and
// a program can make a tree of any depth.
const maxDepth = 800

// Scan compares every layer's upper directory with the host and returns what
// the sandbox's programs changed. It only reads, and goes on where something
// cannot be read: see Set.Unreadable.
func Scan(ctx context.Context, tree Tree, opts Options) (*Set, error) {
	s, err := newScan(ctx, tree)
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, l := range tree.Layers {
		if tree.Masked(l.Host) {
			continue
		}
		d, ok, err := s.openLayer(l)
		if err != nil {
			return nil, err
		}
		if ok {
			s.submit(d)
		}
	}
	if err := s.run(); err != nil {
		return nil, err
	}
	if err := s.settleRedirects(); err != nil {
		return nil, err
	}
	set := &Set{Changes: s.inOrder(), Unreadable: s.unreadable, tree: tree}
	slices.Sort(set.Unreadable)
	set.Unreadable = slices.Compact(set.Unreadable)
	if !opts.NoRenames {
		if err := findRenames(ctx, set); err != nil {
			return nil, err
		}
	}
	finish(set, opts)
	return set, nil
}

// finish marks sensitive rows.
func finish(set *Set, opts Options) { markAll(set.Changes, opts.Home) }

// markAll asks the catalogue about every row. A finder remembers the directory
// it was asked about last, so each worker has its own, and a run of rows.
func markAll(rows []Change, home string) {
	var wg sync.WaitGroup
	for part := range slices.Chunk(rows, len(rows)/workers+1) {
		wg.Go(func() {
			f := sensitive.Finder{Home: home}
			for i := range part {
				part[i].Sensitive = markOf(&part[i], &f)
				part[i].Base = cmp.Or(part[i].Base, BaseSame) // nothing was there, or it was not asked
			}
		})
	}
	wg.Wait()
}

func markOf(c *Change, f *sensitive.Finder) *sensitive.Mark {
	m := f.For(c.Path, c.Host, c.Sandbox)
	if m == nil && c.From != "" {
		m = sensitive.For(c.From, f.Home, c.Host, entry.Entry{Type: entry.None})
	}
	if m == nil && c.Redirect {
		m = sensitive.ForTree(c.Path, f.Home)
	}
	return m
}

// scan is one walk over the layers by a few workers.
type scan struct {
	ctx   context.Context
	tree  Tree
	stops map[string]bool
	// stopDirs are the directories that hold a stop.
	stopDirs map[string]bool
	root     int    // "/" of the host
	path     string // when set, only this path and the directories above it matter

	queue   chan dir
	pending sync.WaitGroup

	mu         sync.Mutex
	parts      []part
	unreadable []string
	redirects  []moved
	sawOpaque  atomic.Bool
	err        error
}

func newScan(ctx context.Context, tree Tree) (*scan, error) {
	root, err := entry.OpenRoot()
	if err != nil {
		return nil, err
	}
	s := &scan{
		ctx: ctx, tree: tree, stops: tree.stops(), root: root,
		stopDirs: make(map[string]bool), queue: make(chan dir, 64),
	}
	for stop := range s.stops {
		s.stopDirs[dirOf(stop)] = true
	}
	return s, nil
}

// stopsIn reports whether a walk may end at a name in dir.
func (s *scan) stopsIn(dir string) bool { return s.stopDirs[dir] }

func (s *scan) close() { unix.Close(s.root) }

// openLayer gives the walk of a layer from its root. ok is false when nothing
// was ever written there.
func (s *scan) openLayer(l Layer) (d dir, ok bool, err error) {
	upperPath := s.tree.layerUpper(l)
	// The storage is the user's own choice and may be reached through a link;
	// from the storage on nothing is followed.
	storage, err := unix.Open(s.tree.Storage, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return d, false, fault.Wrap(fault.Damaged, "scan", s.tree.Storage, err)
	}
	defer unix.Close(storage)
	upper, err := entry.OpenBeneath(storage, l.Upper, unix.O_RDONLY|unix.O_DIRECTORY)
	if errors.Is(err, fs.ErrNotExist) {
		return d, false, nil
	}
	if err != nil {
		return d, false, fault.Wrap(fault.Damaged, "scan", upperPath, err)
	}
	self, err := entry.OfFd(upper)
	if err != nil {
		unix.Close(upper)
		return d, false, err
	}
	d = dir{
		layer: &l, path: l.Host, host: l.Host, upperPath: upperPath,
		upper: upper, lower: -1, shadow: -1, changed: self, marks: readMarks(upperPath, s.tree.Xattr),
	}
	lower, err := entry.OpenDirNoLinks(s.root, l.Host)
	switch {
	case err == nil:
		d.lower = lower
	case fatal(err) != nil:
		d.close()
		return d, false, err
	default:
		d.host = "" // the host's directory is gone: all is new
	}
	return d, true, nil
}

// submit hands a directory to a worker; when all are busy enough it is walked
// here and now, which bounds the descriptors that wait in the queue.
func (s *scan) submit(d dir) {
	s.pending.Add(1)
	select {
	case s.queue <- d:
	default:
		s.walk(d)
		s.pending.Done()
	}
}

// run works until nothing is pending.
func (s *scan) run() error {
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for d := range s.queue {
				s.walk(d)
				s.pending.Done()
			}
		})
	}
	s.pending.Wait()
	close(s.queue)
	done.Wait()
	s.queue = make(chan dir, 64)
	return s.err
}

// add takes over the rows of one directory.
func (s *scan) add(dir string, rows []Change) {
	if len(rows) == 0 {
		return
	}
	slices.SortFunc(rows, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, part{dir, rows})
}

func (s *scan) stopped() bool {
	if err := s.ctx.Err(); err != nil {
		s.fail(fault.Wrap(fault.Failed, "scan", s.tree.Storage, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

func (s *scan) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// cannotRead notes a directory whose content is unknown, or fails the scan.
func (s *scan) cannotRead(path string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return // gone since its parent was read
	}
	if err := fatal(err); err != nil {
		s.fail(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreadable = append(s.unreadable, path)
}
