package engine

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// maxContent is the size of the largest file that is read to compare it. A
// larger one is accepted and rejected whole, without being shown.
const maxContent = 512 << 20

// Diff compares one changed path: a change's Path, or the From of a rename.
// It costs what the path costs, not what the sandbox holds. A path that is not
// changed is a fault with code NoMatch.
func (e *Engine) Diff(ctx context.Context, name, path string) (FileDiff, error) {
	b, err := e.openRecovered(ctx, name)
	if err != nil {
		return FileDiff{}, err
	}
	b.bases()
	if c, _, err := b.repository(ctx, path); err != nil {
		return FileDiff{}, err
	} else if c != nil {
		return b.compare(*c)
	}
	c, err := changes.One(ctx, b.tree, path, scanOptions())
	if err != nil {
		return FileDiff{}, err
	}
	settled := []changes.Change{c}
	apply.Settle(b.journal(), settled)
	b.refine(settled)
	return b.compare(settled[0])
}

func (b *box) compare(c changes.Change) (FileDiff, error) {
	if c.Git != nil {
		return gitDiff(c), nil
	}
	host, hostPrint, err := readHost(hostPath(c))
	if err != nil {
		return FileDiff{}, err
	}
	sandbox, sandboxPrint := diff.Side{Type: entry.None}, entry.PrintNone
	switch {
	case c.Kind == changes.Deleted:
	case c.Upper == "":
		sandbox, sandboxPrint = host, hostPrint
	default:
		if sandbox, sandboxPrint, err = b.readUpper(c.Upper); err != nil {
			return FileDiff{}, err
		}
		// A directory's entry in the upper may be a mere way to what is below.
		sandbox.Mode = c.Sandbox.Mode
	}
	d := FileDiff{
		Change: c, Host: host, Sandbox: sandbox, HostHash: hostPrint, SandboxHash: sandboxPrint, Base: c.Base,
	}
	switch {
	case c.Conflict && c.Base != changes.BaseKnown:
		d.Base = changes.BaseUnknown
	case d.Base == "":
		d.Base = changes.BaseSame
	}
	if c.Base == changes.BaseKnown && c.From == "" {
		if old, ok := b.tree.BaseSide(c.Path, host); ok {
			d.Hunks = diff.CompareBase(c.Path, host, sandbox, old)
			d.Apart = diff.Apart(host, sandbox, old)
			return d, nil
		}
		d.Base = changes.BaseUnknown
	}
	d.Hunks = diff.Compare(c.Path, host, sandbox)
	if c.Kind == changes.Renamed && !c.Redirect {
		d.Hunks = append([]diff.Hunk{diff.Rename(c.From, c.Path)}, d.Hunks...)
	}
	return d, nil
}

// hostPath is where the host has what a change is about.
func hostPath(c changes.Change) string {
	if c.From != "" {
		return c.From
	}
	return c.Path
}

// readHost reads a path of the host, following no symlink.
func readHost(path string) (diff.Side, entry.Print, error) {
	root, err := entry.OpenRoot()
	if err != nil {
		return diff.Side{}, "", err
	}
	defer unix.Close(root)
	dirfd, name, err := entry.OpenParent(root, path)
	if missing(err) {
		return diff.Side{Type: entry.None}, entry.PrintNone, nil
	}
	if err != nil {
		return diff.Side{}, "", err
	}
	defer unix.Close(dirfd)
	return readSide(dirfd, name, path)
}

// readUpper reads a path in the storage, following no symlink: programs inside
// choose what the upper holds.
func (b *box) readUpper(path string) (diff.Side, entry.Print, error) {
	dirfd, name, err := b.openUpper(path)
	if err != nil {
		return diff.Side{}, "", err
	}
	defer unix.Close(dirfd)
	return readSide(dirfd, name, path)
}

func (b *box) openUpper(path string) (dirfd int, name string, err error) {
	rel, ok := strings.CutPrefix(path, b.dir.Path()+"/")
	if !ok {
		return -1, "", fault.New(fault.Internal, "read", path, "it is not in the sandbox's storage", "")
	}
	root, err := unix.Open(b.dir.Path(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, "", fault.Wrap(fault.Damaged, "open", b.dir.Path(), err)
	}
	defer unix.Close(root)
	dir, name := entry.Split(rel)
	dirfd, err = entry.OpenBeneath(root, dir, unix.O_PATH|unix.O_DIRECTORY)
	return dirfd, name, err
}

// missing reports that a directory on the way to a path is not there, or is
// none: then nothing is at the path.
func missing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// readSide reads one entry, content and fingerprint from the same bytes.
func readSide(dirfd int, name, path string) (diff.Side, entry.Print, error) {
	e, err := entry.At(dirfd, name)
	if err != nil {
		return diff.Side{}, "", err
	}
	s := diff.Side{Type: e.Type, Mode: e.Mode, Target: e.Target}
	if e.Type != entry.File {
		return s, e.Print(), nil
	}
	data, e, err := entry.ReadFile(dirfd, name, maxContent)
	if errors.Is(err, unix.EFBIG) {
		return s, "", fault.New(fault.Unsupported, "compare", path, "it is larger than 512 MiB",
			"It can be accepted and rejected as a whole by its name.")
	}
	if err != nil {
		return s, "", err
	}
	s.Mode, s.Data = e.Mode, data
	return s, entry.PrintBytes(data), nil
}
