package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/fault"
	"sandbox/engine/launch"
	"sandbox/engine/rootfs"
	"sandbox/engine/store"
)

// List describes all sandboxes in the storage directory, in order of name.
// With counts it also counts their changes. One that cannot be read is listed
// with the reason in Problem.
func (e *Engine) List(ctx context.Context, counts bool) ([]Info, error) {
	names, err := store.List(e.Storage)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(names))
	for _, name := range names {
		if CheckName(name) != nil {
			continue // not ours: nothing could be done with it by this name
		}
		open := e.openRecovered
		if !counts {
			open = func(_ context.Context, name string) (*box, error) { return e.open(name) }
		}
		b, err := open(ctx, name)
		if err != nil {
			infos = append(infos, Info{Name: name, Changes: -1, Running: e.running(name), Problem: err.Error()})
			continue
		}
		info := e.info(b)
		if counts {
			set, err := changes.Scan(ctx, b.tree, scanOptions())
			switch {
			case err == nil:
				if gerr := b.group(set, nil); gerr != nil {
					info.Problem = gerr.Error()
				}
				info.Changes = len(set.Changes)
			case ctx.Err() != nil:
				return nil, ctx.Err()
			default:
				info.Problem = err.Error()
			}
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// Info describes one sandbox, without counting its changes.
func (e *Engine) Info(_ context.Context, name string) (Info, error) {
	b, err := e.open(name)
	if err != nil {
		return Info{}, err
	}
	return e.info(b), nil
}

func (e *Engine) info(b *box) Info {
	return Info{
		Name: b.dir.Name, Running: e.running(b.dir.Name), Created: b.meta.Created, Changes: -1,
		Net: b.meta.Net, Mode: b.meta.Mode, Project: b.meta.Project,
	}
}

// Stop ends a sandbox with all that runs in it and waits until it is gone. One
// that is down is left alone.
func (e *Engine) Stop(ctx context.Context, name string) error {
	b, err := e.open(name)
	if err != nil && fault.CodeOf(err) != fault.Damaged {
		return err
	}
	if err == nil && apply.Pending(b.journal()) {
		// While it runs: a reject is taken back inside.
		if lock, lerr := b.dir.OpLock("stop", 0); lerr == nil {
			err = e.recover(ctx, b)
			_ = lock.Close()
		}
	}
	if serr := e.stop(ctx, name); serr != nil || err != nil {
		return serr
	}
	if lock, err := b.dir.OpLock("stop", 0); err == nil {
		defer lock.Close()
		b.prune(ctx)
	}
	return nil
}

// Sync makes host changes below the given paths (all, when none are given)
// visible in a running sandbox. One that is down needs nothing.
func (e *Engine) Sync(_ context.Context, name string, paths ...string) error {
	b, err := e.open(name)
	if err != nil {
		return err
	}
	link := launch.Running(b.dir)
	if link == nil {
		return nil
	}
	defer link.Close()
	return syncView(link, paths...)
}

// trash is the prefix of what a delete has yet to remove. No sandbox's name
// begins with a dot.
const trash = ".deleted-"

// Delete stops a sandbox and removes it with its changes and its journal, also
// a damaged one. The name is free at once; a delete that is cut short is
// finished by the next one.
func (e *Engine) Delete(ctx context.Context, name string) error {
	b, err := e.open(name)
	dir := store.At(e.Storage, name)
	switch fault.CodeOf(err) {
	case "":
		dir = b.dir
	case fault.Damaged:
		if err := dir.CheckOwner(); err != nil {
			return err
		}
	default:
		return err
	}
	op, err := dir.OpLock("delete", opWait)
	if err != nil {
		return err
	}
	defer op.Close()
	if b != nil {
		// What an operation has replaced on the host is only in the journal.
		if err := e.recover(ctx, b); err != nil {
			return err
		}
	}
	if err := e.stop(ctx, name); err != nil {
		return err
	}
	lock, err := downLock(dir)
	if err != nil {
		return err
	}
	defer lock.Close()

	gone := trash + name + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	if err := os.Rename(dir.Path(), store.At(e.Storage, gone).Path()); err != nil {
		return fault.Wrap(fault.Failed, "delete", dir.Path(), err)
	}
	return e.sweep()
}

// downLock takes the lock that a running sandbox holds. Whoever asks whether it
// is up (the keeper does, when init has ended) holds it for a moment too.
func downLock(dir store.Dir) (*os.File, error) {
	for end := time.Now().Add(opWait); ; time.Sleep(5 * time.Millisecond) {
		lock, err := store.TryLock(dir.Path(store.LockFile))
		if lock != nil || err != nil {
			return lock, err
		}
		if time.Now().After(end) {
			return nil, fault.New(fault.Busy, "delete", dir.Name, "it was started again", "Try again.")
		}
	}
}

// sweep removes what deletes have put aside. Upper directories hold hostile
// names, and directories without any permission, so nothing is followed and
// permissions are added on the way.
func (e *Engine) sweep() error {
	ents, err := os.ReadDir(e.Storage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Wrap(fault.Failed, "delete", e.Storage, err)
	}
	root, err := rootfs.Open(e.Storage)
	if err != nil {
		return fault.Wrap(fault.Failed, "delete", e.Storage, err)
	}
	defer root.Close() //nolint:errcheck // a descriptor for looking
	var first error
	for _, ent := range ents {
		if !strings.HasPrefix(ent.Name(), trash) {
			continue
		}
		if err := removeTree(root, ent.Name()); err != nil && first == nil {
			first = &fault.Error{
				Code: fault.Failed, Op: "delete", Path: store.At(e.Storage, ent.Name()).Path(), Err: err,
				Hint: "The sandbox is gone, but some of its files are left there; the next delete tries again.",
			}
		}
	}
	return first
}

func removeTree(root *rootfs.Root, name string) error {
	at, err := root.At(name)
	if err != nil {
		return err
	}
	defer at.Close()
	return at.RemoveAll()
}
