package apply

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// Prune removes from the uppers of a sandbox that is down what is equal to the
// host, so that later edits on the host are seen inside again: files of the
// same content, mode, owner and xattrs, whiteouts of what the host has not
// either, and directories of which nothing of their own is left. But for times
// of files, which are no change, the sandbox sees the same before and after.
//
// The caller holds the sandbox's operation lock, and the sandbox is down.
func Prune(ctx context.Context, env Env) error {
	if env.Running {
		return fault.New(fault.Internal, "prune", env.Tree.Storage, "the sandbox is running", "")
	}
	w, err := open(env)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.sweepPruned(); err != nil {
		return fault.Wrap(fault.Failed, "prune", env.Tree.Storage, err)
	}
	p := pruner{ctx: ctx, w: w, stop: map[string]bool{}}
	for _, l := range env.Tree.Layers {
		p.stop[l.Host] = true
	}
	for _, m := range append(env.Tree.Masks, env.Tree.Storage) {
		p.stop[m] = true
	}
	for _, l := range env.Tree.Layers {
		if err := p.layer(l); err != nil {
			return fault.Wrap(fault.Failed, "prune", l.Host, err)
		}
	}
	return nil
}

type pruner struct {
	ctx  context.Context
	w    *work
	stop map[string]bool // roots of layers, and masks
}

func (p *pruner) layer(l changes.Layer) error {
	up, err := p.w.upper.root.At("/" + l.Upper)
	if err != nil {
		return ignoreMissing(err)
	}
	defer up.Close()
	if e, err := up.Stat(); err != nil || e.Type != entry.Dir {
		return err
	}
	inUp, err := up.Enter()
	if err != nil {
		return err
	}
	defer inUp.Close()
	// The root of a layer has no name that could be looked up in its parent
	// when that is another mount, so it is entered as a directory.
	fd, err := entry.OpenDirNoLinks(p.w.host.FD(), l.Host)
	if err != nil {
		return ignoreMissing(err)
	}
	inHost := rootfs.At{Dir: fd, Path: l.Host + "/"}
	defer inHost.Close()
	_, err = p.inside(up, inUp, inHost, l.Host, p.w.upper.attr(up, "opaque") == "y")
	return err
}

// inside prunes what is in a directory and reports whether the sandbox sees
// there exactly what the host has. Where the host's directory is hidden
// (opaque) nothing may be removed alone: it would be gone for the sandbox.
func (p *pruner) inside(dir, up, host rootfs.At, path string, hidden bool) (bool, error) {
	if err := p.ctx.Err(); err != nil {
		return false, err
	}
	names, err := dir.Names()
	if err != nil {
		return false, skipUnreadable(err)
	}
	same := true
	seen := map[string]bool{}
	for _, name := range names {
		one, err := p.one(up.Sibling(name), host.Sibling(name), join(path, name), hidden)
		if err != nil {
			return false, err
		}
		same = same && one
		seen[name] = true
	}
	if !hidden || !same {
		return same, nil
	}
	theirs, err := hostNames(host)
	if err != nil {
		return false, skipUnreadable(err)
	}
	for _, name := range theirs {
		if !seen[name] {
			return false, nil
		}
	}
	return true, nil
}

func (p *pruner) one(up, host rootfs.At, path string, hidden bool) (bool, error) {
	if p.stop[path] {
		return false, nil
	}
	u, err := up.Stat()
	if err != nil {
		return false, skipUnreadable(err)
	}
	h, err := host.Stat()
	if err != nil {
		return false, skipUnreadable(err)
	}
	if u.Whiteout() {
		if h.Exists() {
			return false, nil
		}
		return true, p.remove(up, hidden)
	}
	if u.Type != h.Type {
		return false, nil
	}
	if u.Type == entry.Dir {
		return p.dir(up, host, path, hidden)
	}
	if isDevice(u.Type) {
		return false, nil // nobody could make it again, should the accept be undone
	}
	same, err := equalEntry(up, u, host, h)
	if err != nil || !same {
		return false, skipUnreadable(err)
	}
	return true, p.remove(up, hidden)
}

func (p *pruner) dir(up, host rootfs.At, path string, hidden bool) (bool, error) {
	if p.w.upper.attr(up, "redirect") != "" {
		return false, nil
	}
	opaque := p.w.upper.attr(up, "opaque") == "y"
	inUp, err := up.Enter()
	if err != nil {
		return false, skipUnreadable(err)
	}
	defer inUp.Close()
	inHost, err := host.Enter()
	if err != nil {
		return false, skipUnreadable(err)
	}
	defer inHost.Close()
	same, err := p.inside(up, inUp, inHost, path, hidden || opaque)
	if err != nil || !same {
		return false, err
	}
	same, err = p.sameAttributes(up, host)
	if err != nil || !same {
		return false, skipUnreadable(err)
	}
	if hidden {
		return true, nil
	}
	return true, p.removeDir(up, opaque)
}

// remove takes one entry away, unless it must stay for an opaque directory.
func (p *pruner) remove(up rootfs.At, hidden bool) error {
	if hidden {
		return nil
	}
	return skipUnreadable(up.Unlink())
}

// removeDir removes a directory: an opaque one with the copies in it, another
// one only when it is empty by now.
func (p *pruner) removeDir(up rootfs.At, opaque bool) error {
	if opaque {
		return skipUnreadable(p.removeOpaque(up))
	}
	err := up.Rmdir()
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return skipUnreadable(err)
}

// removeOpaque takes a directory out of the upper in one step before it goes:
// half of it would hide what the host has.
func (p *pruner) removeOpaque(up rootfs.At) error {
	out, err := p.w.upper.root.At("/" + rootfs.TempName())
	if err != nil {
		return err
	}
	defer out.Close()
	if err := up.Transfer(out); err != nil {
		return err
	}
	crash("taken out")
	return out.RemoveAll()
}

// sweepPruned removes what a prune that was killed had taken out.
func (w *work) sweepPruned() error {
	fd, err := entry.Reopen(w.upper.root.FD())
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	list, err := entry.ReadDir(fd)
	for _, d := range list {
		if !rootfs.IsTemp(d.Name) {
			continue
		}
		at, aerr := w.upper.root.At("/" + d.Name)
		if aerr != nil {
			return aerr
		}
		err = errors.Join(err, at.RemoveAll())
		at.Close()
	}
	return err
}

// skipUnreadable lets a prune go on where it may not look or write.
func skipUnreadable(err error) error {
	for _, e := range []error{unix.EACCES, unix.EPERM, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EBUSY} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

func hostNames(in rootfs.At) ([]string, error) {
	fd, err := entry.Reopen(in.Dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	list, err := entry.ReadDir(fd)
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Name
	}
	return names, err
}

// equalEntry compares two entries of one type that are no directories.
func equalEntry(up rootfs.At, u entry.Entry, host rootfs.At, h entry.Entry) (bool, error) {
	if u.Size != h.Size && u.Type == entry.File || u.Target != h.Target {
		return false, nil
	}
	mu, err := up.Meta()
	if err != nil {
		return false, err
	}
	mh, err := host.Meta()
	if err != nil {
		return false, err
	}
	if !sameMeta(mu, mh) {
		return false, nil
	}
	pu, err := up.Print()
	if err != nil {
		return false, err
	}
	ph, err := host.Print()
	return err == nil && pu == ph, err
}

func (p *pruner) sameAttributes(up, host rootfs.At) (bool, error) {
	mu, err := up.Meta()
	if err != nil {
		return false, err
	}
	mh, err := host.Meta()
	return err == nil && sameMeta(mu, mh), err
}
