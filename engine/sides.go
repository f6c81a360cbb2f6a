package engine

import (
	"context"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/view"
)

// place is where the bytes of a path of the sandbox are.
type place struct {
	upper string // absolute, in the storage
	host  string // absolute, on the host; both "": nothing is there
}

// find says where the sandbox's version of an absolute path is, changed or
// not. Symlinks are not followed.
func (b *box) find(ctx context.Context, abs string) (place, error) {
	if abs != path.Clean(abs) || !path.IsAbs(abs) {
		return place{}, fault.New(fault.Usage, "look up", abs, "it is not a clean absolute path", "")
	}
	if b.tree.Masked(abs) {
		return place{}, nil // hidden inside
	}
	c, err := changes.One(ctx, b.tree, abs, scanOptions())
	switch {
	case err == nil && (c.Kind == changes.Deleted || c.Path != abs): // gone, or moved away
		return place{}, nil
	case err == nil && c.Upper != "":
		return place{upper: c.Upper}, nil
	case err == nil:
		return place{host: hostPath(c)}, nil
	case fault.CodeOf(err) != fault.NoMatch:
		return place{}, err
	}
	if b.tree.Xattr == changes.UserXattr {
		return place{host: abs}, nil
	}
	// Below a directory that the kernel renamed, unchanged content is where
	// the host has it.
	for dir := path.Dir(abs); dir != "/"; dir = path.Dir(dir) {
		c, err := changes.One(ctx, b.tree, dir, scanOptions())
		switch {
		case err == nil && c.Path == dir && c.Redirect:
			return place{host: c.From + abs[len(dir):]}, nil
		case err == nil && (c.Path != dir || c.Kind == changes.Deleted):
			return place{}, nil
		case err != nil && fault.CodeOf(err) != fault.NoMatch:
			return place{}, err
		}
	}
	return place{host: abs}, nil
}

// ReadSandbox reads the sandbox's version of an absolute path, changed or not,
// without starting the sandbox.
func (e *Engine) ReadSandbox(ctx context.Context, name, abs string) (diff.Side, entry.Print, error) {
	b, err := e.openRecovered(ctx, name)
	if err != nil {
		return diff.Side{}, "", err
	}
	return b.readSandbox(ctx, abs)
}

func (b *box) readSandbox(ctx context.Context, abs string) (diff.Side, entry.Print, error) {
	p, err := b.find(ctx, abs)
	switch {
	case err != nil:
		return diff.Side{}, "", err
	case p.upper != "":
		return b.readUpper(p.upper)
	case p.host != "":
		return readHost(p.host)
	}
	return diff.Side{Type: entry.None}, entry.PrintNone, nil
}

// WriteSandbox gives a path of the sandbox new content, keeping its mode,
// owner and extended attributes, and returns the new fingerprint. When the
// content is not the expected one any more, nothing is written and the fault
// has code Stale; expect "" checks nothing.
func (e *Engine) WriteSandbox(ctx context.Context, name, abs string, data []byte, expect entry.Print) (entry.Print, error) {
	b, err := e.open(name)
	if err != nil {
		return "", err
	}
	op, err := b.dir.OpLock("write", opWait)
	if err != nil {
		return "", err
	}
	defer op.Close()
	if err := e.recover(ctx, b); err != nil {
		return "", err
	}
	meta, err := b.metaOf(ctx, abs)
	if err != nil {
		return "", err
	}
	content, err := memory(data)
	if err != nil {
		return "", err
	}
	defer content.Close()
	s := e.session(name)
	v, err := s.open()
	if err != nil {
		return "", err
	}
	err = v.Write(abs, content, meta, expect)
	if cerr := s.close(ctx); err == nil {
		err = cerr
	}
	if err != nil {
		return "", err
	}
	return entry.PrintBytes(data), nil
}

// metaOf is the metadata that a file keeps when its content is written.
func (b *box) metaOf(ctx context.Context, abs string) (view.Meta, error) {
	p, err := b.find(ctx, abs)
	if err != nil {
		return view.Meta{}, err
	}
	fresh := view.Meta{Mode: 0o644, UID: uint32(os.Getuid()), GID: uint32(os.Getgid())} //nolint:gosec // ids are not negative
	var dirfd int
	var name string
	switch {
	case p.upper != "":
		dirfd, name, err = b.openUpper(p.upper)
	case p.host != "":
		var root int
		if root, err = entry.OpenRoot(); err == nil {
			dirfd, name, err = entry.OpenParent(root, p.host)
			_ = unix.Close(root)
		}
	default:
		return fresh, nil
	}
	if missing(err) {
		return fresh, nil
	}
	if err != nil {
		return fresh, err
	}
	defer unix.Close(dirfd)
	e, err := entry.At(dirfd, name)
	if err != nil {
		return fresh, err
	}
	switch e.Type {
	case entry.None:
		return fresh, nil
	case entry.File:
	default:
		return fresh, fault.New(fault.Usage, "write", abs, "it is not a regular file but a "+string(e.Type), "")
	}
	xattrs, err := entry.Xattrs(dirfd, name)
	if err != nil {
		return fresh, err
	}
	return view.Meta{Mode: e.Mode, UID: e.UID, GID: e.GID, Xattrs: xattrs}, nil
}

// memory is a file that holds data and has no name.
func memory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("content", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "hold", "new content", err)
	}
	f := os.NewFile(uintptr(fd), "content")
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return nil, fault.Wrap(fault.Failed, "hold", "new content", err)
	}
	return f, nil
}
