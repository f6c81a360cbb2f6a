package changes

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// files opens the two sides of rows. It keeps the directory that it opened
// last on each side, because rows come in order of path.
type files struct {
	tree        Tree
	host, upper heldDir

	hostData, upperData entry.Reader
}

// heldDir is a root and the last directory opened below it.
type heldDir struct {
	root int // -1: not open yet
	path string
	fd   int // -1: none
}

func newFiles(tree Tree) *files {
	return &files{tree: tree, host: heldDir{root: -1, fd: -1}, upper: heldDir{root: -1, fd: -1}}
}

func (f *files) close() {
	for _, fd := range []int{f.host.fd, f.host.root, f.upper.fd, f.upper.root} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// hostSide gives the directory and name of a host path. The descriptor stays
// with f and is good until the next call.
func (f *files) hostSide(path string) (dirfd int, name string, err error) {
	if f.host.root < 0 {
		if f.host.root, err = entry.OpenRoot(); err != nil {
			return -1, "", err
		}
	}
	dir, name := entry.Split(path)
	err = f.host.to(dir, entry.OpenDirNoLinks)
	return f.host.fd, name, err
}

// upperSide is hostSide for a path in the storage.
func (f *files) upperSide(path string) (dirfd int, name string, err error) {
	if f.upper.root < 0 {
		fd, err := unix.Open(f.tree.Storage, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, "", fault.Wrap(fault.Damaged, "open", f.tree.Storage, err)
		}
		f.upper.root = fd
	}
	rel, ok := strings.CutPrefix(path, strings.TrimSuffix(f.tree.Storage, "/")+"/")
	if !ok {
		return -1, "", fault.New(fault.Internal, "open", path, "it is not in the sandbox's storage", "")
	}
	dir, name := entry.Split(rel)
	err = f.upper.to(dir, func(root int, path string) (int, error) {
		return entry.OpenBeneath(root, path, unix.O_PATH|unix.O_DIRECTORY)
	})
	return f.upper.fd, name, err
}

func (h *heldDir) to(dir string, open func(int, string) (int, error)) error {
	if h.fd >= 0 && h.path == dir {
		return nil
	}
	if h.fd >= 0 {
		unix.Close(h.fd)
		h.fd = -1
	}
	fd, err := open(h.root, dir)
	if err != nil {
		return err
	}
	h.fd, h.path = fd, dir
	return nil
}

// hostPath is where the host has what c is about.
func (c *Change) hostPath() string {
	if c.From != "" {
		return c.From
	}
	return c.Path
}

// parallel calls do for 0…n-1 in chunks, each worker with its own files.
func parallel(ctx context.Context, tree Tree, n int, do func(f *files, i int) error) error {
	const chunk = 64 // rows that follow each other share a directory
	var next atomic.Int64
	var once sync.Once
	var failed error
	var stop atomic.Bool
	fail := func(err error) { once.Do(func() { failed = err }); stop.Store(true) }
	work := func() {
		f := newFiles(tree)
		defer f.close()
		for !stop.Load() {
			from := int(next.Add(chunk)) - chunk
			if from >= n {
				return
			}
			for i := from; i < min(from+chunk, n); i++ {
				err := ctx.Err()
				if err == nil {
					err = do(f, i)
				}
				if err != nil {
					fail(err)
					return
				}
			}
		}
	}
	if n <= chunk {
		work()
		return failed
	}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(work)
	}
	wg.Wait()
	return failed
}
