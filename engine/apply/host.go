package apply

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// hostRun does the steps of an accept on the host, and takes them back.
type hostRun struct {
	w  *work
	op *operation
}

// do carries out all steps. When one fails, those before it are taken back, so
// that nothing is written.
func (r *hostRun) do(ctx context.Context) error {
	for i := range r.op.Steps {
		err := ctx.Err()
		if err == nil {
			err = r.step(i)
		}
		if err != nil {
			return r.rollBack(i-1, explain(r.op.Kind, string(r.op.Steps[i].Path), err))
		}
	}
	if err := r.finish(); err != nil {
		return r.rollBack(len(r.op.Steps)-1, explain(r.op.Kind, "", err))
	}
	return nil
}

// rollBack takes back the steps up to last. The operation leaves the journal
// only when all of that worked.
func (r *hostRun) rollBack(last int, cause error) error {
	r.openDirs(last)
	for i := last; i >= 0; i-- {
		if err := r.revert(i, false); err != nil {
			return errors.Join(cause, fault.New(fault.Failed, "take back", string(r.op.Steps[i].Path), err.Error(),
				"What was replaced is kept in "+r.op.dir+"."))
		}
	}
	r.w.unmark(r.op)
	r.op.drop()
	return cause
}

// explain makes a fault of an error that is none.
func explain(op, path string, err error) error {
	var known *fault.Error
	if errors.As(err, &known) && known.Code != fault.Failed {
		return err
	}
	code := fault.Failed
	var hint string
	switch {
	case errors.Is(err, unix.ELOOP):
		code, hint = fault.Conflict, "Nothing was written. A symbolic link on the host stands in the directory part."
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		hint = "Nothing was written. You may not change this path on the host."
	default:
		hint = "Nothing was written."
	}
	return &fault.Error{Code: code, Op: op, Path: path, Err: err, Hint: hint}
}

func (r *hostRun) step(i int) error {
	s := &r.op.Steps[i]
	at, err := r.w.host.At(string(s.Path))
	if err != nil {
		return err
	}
	defer at.Close()
	switch s.Do {
	case doMake:
		return r.makeEntry(i, at)
	case doRemove:
		return r.remove(i, at)
	case doMove:
		return r.move(s, at)
	case doAttr:
		return r.attributes(s, at)
	}
	return fault.New(fault.Internal, "accept", string(s.Path), "unknown step "+string(s.Do), "")
}

// makeEntry builds the new entry beside its place and swaps it in.
func (r *hostRun) makeEntry(i int, at rootfs.At) error {
	s := &r.op.Steps[i]
	tmp := at.Sibling(s.Tmp)
	if err := r.build(s, tmp); err != nil {
		_ = tmp.RemoveAll()
		return err
	}
	old, err := at.Install(tmp, s.Before)
	if err != nil {
		if !old {
			_ = tmp.RemoveAll()
		}
		return err
	}
	if !old {
		return nil
	}
	if err := r.keep(i, tmp); err != nil {
		// The new entry goes out again; its temporary with it.
		if back := at.Exchange(tmp); back != nil {
			return errors.Join(err, back)
		}
		_ = tmp.RemoveAll()
		return err
	}
	return nil
}

// build makes the entry of a step, with its metadata. A directory stays open
// to its owner until all that is in it is there.
func (r *hostRun) build(s *step, tmp rootfs.At) error {
	var err error
	switch s.Type {
	case entry.File:
		return r.fill(s, tmp)
	case entry.Dir:
		return tmp.Mkdir()
	case entry.Symlink:
		err = tmp.Symlink(string(s.Target))
	case entry.Fifo:
		err = tmp.Mkfifo()
	case entry.Char, entry.Block:
		err = tmp.Mknod(s.Type, s.Rdev)
	default:
		err = fault.New(fault.Internal, "accept", string(s.Path), "an entry of type "+string(s.Type), "")
	}
	if err != nil {
		return err
	}
	return tmp.SetMeta(*s.New)
}

// fill writes the content, which must be what was decided on. A program in the
// sandbox may be writing to the file at this moment; what it writes later is a
// new change.
func (r *hostRun) fill(s *step, tmp rootfs.At) error {
	f, err := r.w.content(s.source)
	if err != nil {
		if ignoreMissing(err) == nil {
			return stale(string(s.Path), "the sandbox's version")
		}
		return err
	}
	defer func() { _ = f.Close() }()
	meta := *s.New
	if info, err := f.Stat(); err == nil && s.Loose {
		meta.MtimeNs = info.ModTime().UnixNano()
	}
	print, err := tmp.Fill(f, meta)
	if err != nil {
		return err
	}
	if print != s.After && !s.Loose {
		return stale(string(s.Path), "the sandbox's version")
	}
	s.After = print
	return nil
}

// content opens what a file is made from.
func (w *work) content(s source) (*os.File, error) {
	if s.bytes {
		return memory(s.data)
	}
	find, path := w.upper.at, s.upper
	if s.host != "" {
		find, path = w.host.At, s.host
	}
	at, err := find(path)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	return at.OpenFile()
}

// memory is a file that holds data and has no name.
func memory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "hold a version in memory", "", err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	if _, err := f.WriteAt(data, 0); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// keep brings what was replaced, and stands under a temporary's name, to the
// journal. A directory must hold what the plan saw in it.
func (r *hostRun) keep(i int, tmp rootfs.At) error {
	s := &r.op.Steps[i]
	if s.Before == "dir" || s.tree != nil {
		e, err := tmp.Stat()
		if err != nil {
			return err
		}
		if e.Type == entry.Dir {
			same, err := sameTree(tmp, s.tree)
			if err != nil {
				return err
			}
			if !same {
				return stale(string(s.Path), "what the host has below it")
			}
		}
	}
	return r.unrestore(i, tmp)
}

func (r *hostRun) remove(i int, at rootfs.At) error {
	s := &r.op.Steps[i]
	tmp := at.Sibling(s.Tmp)
	if err := at.Detach(tmp, s.Before); err != nil {
		return err
	}
	if err := r.keep(i, tmp); err != nil {
		return errors.Join(err, tmp.MoveTo(at))
	}
	return nil
}

func (r *hostRun) move(s *step, to rootfs.At) error {
	from, err := r.w.host.At(string(s.From))
	if err != nil {
		return err
	}
	defer from.Close()
	print, err := from.Print()
	if err != nil {
		return err
	}
	if print != s.Before {
		return stale(string(s.From), "the host's version")
	}
	err = from.MoveTo(to)
	if errors.Is(err, unix.EEXIST) {
		return stale(to.Path, "the host's version")
	}
	return err
}

func (r *hostRun) attributes(s *step, at rootfs.At) error {
	now, err := at.Print()
	if err != nil {
		return err
	}
	if now != s.Before {
		return stale(string(s.Path), "the host's version")
	}
	meta := *s.New
	if now == "dir" {
		meta.Mode |= 0o700 // until finish
	}
	return at.SetMeta(meta)
}

// finish gives directories their modes and times, the deepest first, and notes
// what the file system made of the metadata.
func (r *hostRun) finish() error {
	var dirs []int
	for i := range r.op.Steps {
		s := &r.op.Steps[i]
		if s.Do == doMake && s.Type == entry.Dir || s.Do == doAttr && s.After == "dir" {
			dirs = append(dirs, i)
		}
	}
	slices.SortStableFunc(dirs, func(x, y int) int {
		return strings.Compare(string(r.op.Steps[y].Path), string(r.op.Steps[x].Path))
	})
	for _, i := range dirs {
		s := &r.op.Steps[i]
		if err := r.with(s.Path, func(at rootfs.At) error { return at.SetMeta(*s.New) }); err != nil {
			return err
		}
	}
	for i := range r.op.Steps {
		s := &r.op.Steps[i]
		if s.New == nil {
			continue
		}
		err := r.with(s.Path, func(at rootfs.At) error {
			meta, err := at.Meta()
			s.New = &meta
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *hostRun) with(path pathText, do func(rootfs.At) error) error {
	at, err := r.w.host.At(string(path))
	if err != nil {
		return err
	}
	defer at.Close()
	return do(at)
}

// openDirs lets the owner into the directories that the steps made or gave
// another mode, so that what is in them can be taken back.
func (r *hostRun) openDirs(last int) {
	for i := 0; i <= last; i++ {
		s := &r.op.Steps[i]
		if s.Do == doMake && s.Type == entry.Dir || s.Do == doAttr && s.After == "dir" {
			_ = r.with(s.Path, func(at rootfs.At) error {
				e, err := at.Stat()
				if err != nil || e.Type != entry.Dir || e.Mode&0o700 == 0o700 {
					return err
				}
				return at.Chmod(e.Mode | 0o700)
			})
		}
	}
}

// revert takes one step back. With retain, what the step had written is kept
// in the journal as its .after.
func (r *hostRun) revert(i int, retain bool) error {
	s := &r.op.Steps[i]
	at, err := r.w.host.At(string(s.Path))
	if err != nil {
		return err
	}
	defer at.Close()
	tmp := at.Sibling(s.Tmp)
	switch s.Do {
	case doMove:
		from, err := r.w.host.At(string(s.From))
		if err != nil {
			return err
		}
		defer from.Close()
		return at.MoveTo(from)
	case doAttr:
		return at.SetMeta(*s.Old)
	case doRemove:
		if err := r.restore(i, tmp); err != nil {
			return err
		}
		return tmp.MoveTo(at)
	}
	// A make: over nothing, or over what is kept.
	if s.Before == entry.PrintNone {
		if err := at.Detach(tmp, s.After); err != nil {
			return err
		}
	} else {
		if err := r.restore(i, tmp); err != nil {
			return err
		}
		if _, err := at.Install(tmp, s.After); err != nil {
			return errors.Join(err, r.unrestore(i, tmp))
		}
	}
	return r.discard(i, at, tmp, retain)
}

// restore brings what a step replaced back beside its place.
func (r *hostRun) restore(i int, tmp rootfs.At) error {
	data, err := r.op.kept(i)
	if err != nil {
		return err
	}
	defer data.Close()
	return data.Carry(tmp)
}

// unrestore is restore backwards.
func (r *hostRun) unrestore(i int, tmp rootfs.At) error {
	data, err := r.op.kept(i)
	if err != nil {
		return err
	}
	defer data.Close()
	return tmp.Carry(data)
}

// discard throws away, or retains, what a step had made. A directory has to be
// empty by now: what else is in it is somebody's, and stays.
func (r *hostRun) discard(i int, at, tmp rootfs.At, retain bool) error {
	if r.op.Steps[i].Type == entry.Dir {
		err := tmp.Rmdir()
		if errors.Is(err, unix.ENOTEMPTY) && r.op.Steps[i].Before == entry.PrintNone {
			return errors.Join(rootfs.Stale(at.Path), tmp.MoveTo(at))
		}
		return err
	}
	if !retain {
		return tmp.RemoveAll()
	}
	after, err := r.op.after(i)
	if err != nil {
		return err
	}
	defer after.Close()
	return tmp.Carry(after)
}

// fewSteps is up to how many steps each file is synced by itself. syncfs also
// waits for what all other programs have written, which on a busy disk is far
// more than the block that somebody is waiting for.
const fewSteps = 4

// syncHost makes what was written last through a power cut.
func (r *hostRun) syncHost() {
	if len(r.op.Steps) > fewSteps {
		r.syncFileSystems()
		return
	}
	for i := range r.op.Steps {
		_ = r.with(r.op.Steps[i].Path, func(at rootfs.At) error {
			if f, _, err := entry.OpenFile(at.Dir, at.Name); err == nil {
				_ = f.Sync()
				_ = f.Close()
			}
			dir, err := entry.Reopen(at.Dir)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(dir) }()
			return unix.Fsync(dir)
		})
	}
}

// syncFileSystems asks the file systems that were written to for one sync each.
func (r *hostRun) syncFileSystems() {
	seen := map[uint64]bool{}
	for i := range r.op.Steps {
		_ = r.with(r.op.Steps[i].Path, func(at rootfs.At) error {
			dir, err := entry.OfFd(at.Dir)
			if err != nil || seen[dir.Dev] {
				return err
			}
			fd, err := entry.Reopen(at.Dir)
			if err != nil {
				return err
			}
			defer func() { _ = unix.Close(fd) }()
			seen[dir.Dev] = true
			return unix.Syncfs(fd)
		})
	}
}
