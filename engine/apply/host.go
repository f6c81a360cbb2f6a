package apply

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// treeRun does the steps of an operation on a tree of files, and takes them
// back. Whatever becomes of the process meanwhile, the tree and the journal
// tell together how far each step came (back.go).
type treeRun struct {
	w    *work
	op   *operation
	root *rootfs.Root
	left []string // paths that could not be taken back
	// makes are the steps that make an entry, by path: filled where links are made.
	makes map[pathText]int
	// copied says that the journal is on another file system than something
	// that was replaced, which then stands under its temporary name until all
	// is done: putting it back must not need room.
	copied atomic.Bool
}

// run gives the run of an operation on the tree that its steps name.
func (w *work) run(op *operation) *treeRun {
	return &treeRun{w: w, op: op, root: w.host}
}

// crash is called between any two changes that can be told apart from outside.
// Tests end the process there.
var crash = func(string) {}

// explain makes a fault of an error that is none.
func explain(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) && known.Code != fault.Failed {
		return err
	}
	if errors.Is(err, entry.ErrNotRegular) {
		// It was one when it was looked at: nothing else is opened for its content.
		return stale(path, "the kind of one side")
	}
	code := fault.Failed
	hint := "Nothing was written."
	switch {
	case errors.Is(err, unix.ELOOP):
		code, hint = fault.Conflict, "Nothing was written. A symbolic link on the host stands in the directory part."
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		hint = "Nothing was written. You may not change this path on the host."
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		hint = "Nothing was written. Make room on that disk and try again."
	case errors.Is(err, unix.EROFS):
		hint = "Nothing was written. That file system is mounted read-only."
	}
	return &fault.Error{Code: code, Op: op, Path: path, Err: err, Hint: hint}
}

func (r *treeRun) step(i int) error {
	s := &r.op.steps[i]
	at, err := r.root.At(string(s.Path))
	if err != nil {
		return err
	}
	defer at.Close()
	s.begun = true
	if err := r.stepAt(i, at); err != nil {
		// At once, in the directory that is held: it may not be found again.
		return errors.Join(err, r.backAt(i, at))
	}
	return nil
}

func (r *treeRun) stepAt(i int, at rootfs.At) error {
	s := &r.op.steps[i]
	switch s.Do {
	case doMake:
		return r.makeEntry(i, at)
	case doRemove:
		return r.remove(i, at)
	case doMove:
		return r.move(s, at)
	case doAttr:
		return r.attributes(i, at)
	}
	return fault.New(fault.Internal, r.op.Kind, string(s.Path), "unknown step "+string(s.Do), "")
}

// makeEntry builds the new entry beside its place and swaps it in.
func (r *treeRun) makeEntry(i int, at rootfs.At) error {
	s := &r.op.steps[i]
	tmp := at.Sibling(r.op.Temp(i))
	m := made{Step: i}
	linked, err := r.asLink(s, tmp, &m)
	switch {
	case linked || err != nil:
	case s.Type == entry.File:
		err = r.fill(s, tmp, &m)
	default:
		err = r.build(s, tmp, &m)
	}
	if err != nil {
		return err
	}
	crash("built")
	s.take(&m)
	if err := r.op.Add(line{Made: &m}); err != nil {
		return err
	}
	crash("noted")
	old, err := r.install(s, at, tmp)
	crash("installed")
	if err != nil || !old {
		return err
	}
	return r.keep(i, tmp)
}

// install puts tmp at its place. What was there, when something was, has to be
// what the plan found, and stands under tmp's name then.
func (r *treeRun) install(s *step, at, tmp rootfs.At) (old bool, err error) {
	switch s.Before {
	case entry.PrintNone:
		err := tmp.MoveTo(at)
		if errors.Is(err, unix.EEXIST) {
			return false, rootfs.Stale(at.Path)
		}
		return false, err
	case "":
		err := at.Exchange(tmp)
		if errors.Is(err, unix.ENOENT) {
			return false, rootfs.Stale(at.Path)
		}
		if err != nil {
			return false, err
		}
		if err := r.isFound(s, at, tmp); err != nil {
			return true, errors.Join(err, at.Exchange(tmp))
		}
		return true, nil
	}
	return at.Install(tmp, s.Before)
}

// isFound says whether what came out, and stands under a temporary name, is the
// entry that the plan found, not written since. Nobody decided on its content,
// so that is not read.
func (r *treeRun) isFound(s *step, at, tmp rootfs.At) error {
	e, err := tmp.Stat()
	if err == nil && (!s.Was.is(e) || e.Size != s.size || e.MtimeNs != s.mtime) {
		err = rootfs.Stale(at.Path)
	}
	return err
}

// build makes the entry of a step that is no file, with its metadata. A
// directory stays open to its owner until all that is in it is there.
func (r *treeRun) build(s *step, tmp rootfs.At, m *made) error {
	var err error
	switch s.Type {
	case entry.Dir:
		err = tmp.Mkdir()
	case entry.Symlink:
		err = tmp.Symlink(string(s.Target))
	case entry.Fifo:
		err = tmp.MakeNode(s.Type)
	case entry.Char, entry.Block:
		err = tmp.Mknod(s.Type, s.Rdev)
	default:
		err = fault.New(fault.Internal, r.op.Kind, string(s.Path), "an entry of type "+string(s.Type), "")
	}
	if err == nil && s.Type != entry.Dir {
		err = tmp.SetMeta(*s.New)
	}
	if err != nil {
		return err
	}
	e, err := tmp.Stat()
	if err != nil {
		return err
	}
	m.Node = nodeOf(e)
	if s.Type == entry.Dir { // its metadata comes at last
		return nil
	}
	meta, err := tmp.Meta()
	if err == nil && !sameMeta(meta, *s.New) {
		m.Meta = &meta
	}
	return err
}

// fill writes the content, which must be what was decided on. A program in the
// sandbox may be writing to the file at this moment; what it writes later is a
// new change.
func (r *treeRun) fill(s *step, tmp rootfs.At, m *made) error {
	src, err := r.w.open(s.source)
	if err != nil {
		if ignoreMissing(err) == nil {
			return stale(string(s.Path), "the sandbox's version")
		}
		return err
	}
	defer src.Close()
	meta := *s.New
	if s.Loose {
		meta.MtimeNs = src.Entry.MtimeNs
	}
	b, err := tmp.Build(src, meta)
	if err != nil {
		return err
	}
	if b.Print != s.After && !s.Loose {
		return stale(string(s.Path), "the sandbox's version")
	}
	m.After, m.Node, m.Meta = b.Print, nodeOf(b.Entry), b.Meta
	if s.index {
		m.Staged = stagedAt(tmp)
	}
	return nil
}

// keep brings what was replaced, and stands under a temporary's name, to the
// journal. A directory must hold what the plan saw in it.
func (r *treeRun) keep(i int, tmp rootfs.At) error {
	s := &r.op.steps[i]
	if s.Before == entry.PrintDir {
		same, err := sameTree(tmp, s.tree)
		if err != nil {
			return err
		}
		if !same {
			return stale(string(s.Path), "what the host has below it")
		}
	}
	_, err := r.copyOut(i, tmp)
	return err
}

// copyOut brings an entry to the journal, on another file system as a copy.
// What stands under its number there is whole: a copy has another name until it
// is finished.
func (r *treeRun) copyOut(i int, tmp rootfs.At) (copied bool, err error) {
	kept := r.op.Kept(i)
	err = tmp.Transfer(kept)
	if !errors.Is(err, unix.EXDEV) {
		crash("kept")
		return false, err
	}
	r.copied.Store(true)
	part := kept.Sibling(kept.Name + ".part")
	if err := part.RemoveAll(); err != nil {
		return true, err
	}
	if err := tmp.CopyTo(part); err != nil {
		return true, err
	}
	crash("copied")
	err = part.MoveTo(kept)
	crash("kept")
	return true, err
}

// store is copyOut for good.
func (r *treeRun) store(i int, tmp rootfs.At) error {
	copied, err := r.copyOut(i, tmp)
	if err != nil || !copied {
		return err
	}
	return tmp.RemoveAll()
}

// clearCopied removes what was copied to the journal from beside its place.
func (r *treeRun) clearCopied() error {
	var moves []step
	r.root.Forget()
	for i := len(r.op.steps) - 1; i >= 0; i-- {
		s := &r.op.steps[i]
		if s.Do == doMove {
			moves = append([]step{*s}, moves...)
			continue
		}
		stored, err := r.op.Kept(i).Stat()
		if err != nil {
			return err
		}
		if !stored.Exists() {
			continue
		}
		at, err := r.root.At(follow(moves, string(s.Path)))
		if err != nil {
			if ignoreMissing(err) == nil {
				continue
			}
			return err
		}
		err = at.Sibling(r.op.Temp(i)).RemoveAll()
		at.Close()
		if err != nil {
			return err
		}
		crash("cleared")
	}
	return nil
}

func (r *treeRun) remove(i int, at rootfs.At) error {
	s := &r.op.steps[i]
	tmp := at.Sibling(r.op.Temp(i))
	if err := at.Detach(tmp, s.Before); err != nil {
		return err
	}
	crash("detached")
	if s.Before == "" {
		if err := r.isFound(s, at, tmp); err != nil {
			return err
		}
	}
	return r.keep(i, tmp)
}

func (r *treeRun) move(s *step, to rootfs.At) error {
	from, err := r.root.At(string(s.From))
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
	crash("moved")
	if errors.Is(err, unix.EEXIST) {
		return stale(to.Path, "the host's version")
	}
	return err
}

func (r *treeRun) attributes(i int, at rootfs.At) error {
	s := &r.op.steps[i]
	now, err := at.Print()
	if err != nil {
		return err
	}
	if now != s.Before {
		return stale(string(s.Path), "the host's version")
	}
	if err := r.op.try(i); err != nil {
		return err
	}
	meta := *s.New
	if now == "dir" {
		meta.Mode |= 0o700 // until finish
	}
	crash("tried")
	err = at.SetMeta(meta)
	crash("attributes")
	return err
}

// finish gives directories their modes and times, the deepest first, and notes
// what the file system made of the metadata.
func (r *treeRun) finish() error {
	var dirs []int
	for i := range r.op.steps {
		s := &r.op.steps[i]
		if s.Do == doMake && s.Type == entry.Dir || s.Do == doAttr && s.After == "dir" {
			dirs = append(dirs, i)
		}
	}
	slices.SortStableFunc(dirs, func(x, y int) int {
		return strings.Compare(string(r.op.steps[y].Path), string(r.op.steps[x].Path))
	})
	for _, i := range dirs {
		s := &r.op.steps[i]
		err := r.with(s.Path, func(at rootfs.At) error {
			if err := at.SetMeta(*s.New); err != nil {
				return err
			}
			crash("directory")
			meta, err := at.Meta()
			if err != nil || sameMeta(meta, *s.New) {
				return err
			}
			s.New = &meta
			return r.op.Add(line{Meta: &dirMeta{i, meta}})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *treeRun) with(path pathText, do func(rootfs.At) error) error {
	at, err := r.root.At(string(path))
	if err != nil {
		return err
	}
	defer at.Close()
	return do(at)
}
