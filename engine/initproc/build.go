package initproc

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/mount"
	"sandbox/engine/mountplan"
	"sandbox/engine/overlay"
	"sandbox/engine/store"
)

// builder carries a mount plan out. All paths are taken relative to open
// directories: an earlier command of the same sandbox chose what lies in the
// uppers, and may have put a symlink anywhere.
type builder struct {
	cfg  *Config
	base int // the sandbox's storage
	tmp  int // tmpfs that holds skeleton, seeds and the root's mount point
	root int // the view's root mount

	overlays []overlayAt
	notes    []string
}

// overlayAt is a mounted overlay of the view, held open for sync.
type overlayAt struct {
	path string
	fd   int
}

// build makes the view and moves the process into it.
func (b *builder) build() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return cannot("make the mounts private", "/", err)
	}
	steps := []func() error{b.scratch, b.view, b.specials, b.shield, b.pivot}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// scratch mounts the tmpfs. It stands in the sandbox's storage, where nobody
// else looks, and is gone with the namespace.
func (b *builder) scratch() error {
	if err := unix.Mkdirat(b.base, store.MountPoint, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return cannot("make a mount point", store.MountPoint, err)
	}
	at, err := entry.OpenBeneath(b.base, store.MountPoint, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }()
	b.tmp, err = mount.FS("tmpfs", "the skeleton", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "mode=0700")
	if err != nil {
		return cannot("mount a tmpfs", "", err)
	}
	if err := mount.AttachKeep(b.tmp, at, ""); err != nil {
		return cannot("attach", store.MountPoint, err)
	}
	for _, d := range []string{"root", "skel", "seed"} {
		if err := unix.Mkdirat(b.tmp, d, 0o755); err != nil {
			return cannot("make", d, err)
		}
	}
	return store.MakeDirs(b.base, b.cfg.Work, 0o700)
}

// view mounts the root overlay and everything that the plan puts on it.
func (b *builder) view() error {
	uppers := b.cfg.Uppers
	next := func() (string, error) {
		if len(uppers) == 0 {
			return "", fault.New(fault.Internal, "build the view", "", "the plan has more overlays than uppers", "")
		}
		u := uppers[0]
		uppers = uppers[1:]
		return u, nil
	}
	items := b.cfg.Plan.Items
	if !b.cfg.Privileged {
		if err := b.skeleton(items); err != nil {
			return err
		}
		u, err := next()
		if err != nil {
			return err
		}
		lower, err := entry.OpenBeneath(b.tmp, "skel", unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		if err := b.overlay(mountplan.Item{Path: "/", Mode: 0o555}, lower, u); err != nil {
			return err
		}
	}
	for _, it := range items {
		var err error
		switch it.Kind {
		case mountplan.Overlay:
			var u string
			if u, err = next(); err == nil {
				err = b.hostOverlay(it, u)
			}
		case mountplan.BindFile, mountplan.BindDir:
			err = b.bind(it)
		case mountplan.Sealed:
			err = b.sealed(it)
		}
		if errors.Is(err, unix.ENOENT) && vanished(it.Path) {
			continue // since the plan was made: temporary directories come and go
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// vanished reports whether the host has nothing at a path (any more).
func vanished(path string) bool {
	var st unix.Stat_t
	return path != "/" && errors.Is(unix.Lstat(path, &st), unix.ENOENT)
}

func (b *builder) hostOverlay(it mountplan.Item, upper string) error {
	lower, err := unix.Open(it.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return cannot("open", it.Path, err)
	}
	return b.overlay(it, lower, upper)
}

// overlay mounts one overlay and attaches it at it.Path. It closes lower.
func (b *builder) overlay(it mountplan.Item, lower int, upper string) error {
	defer func() { _ = unix.Close(lower) }()
	up, err := b.upperDir(upper, it)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(up) }()
	workName := b.cfg.Work + "/" + strconv.Itoa(len(b.overlays))
	if err := store.MakeDirs(b.base, workName, 0o700); err != nil {
		return err
	}
	work, err := entry.OpenBeneath(b.base, workName, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(work) }()
	lowers := []int{lower}
	if it.Path != "/" || b.cfg.Privileged {
		seed, err := b.seed(it.Path)
		if err != nil {
			return err
		}
		if seed >= 0 {
			defer func() { _ = unix.Close(seed) }()
			lowers = []int{seed, lower}
		}
	}
	m, err := overlay.Mount(overlay.Spec{Target: it.Path, Lowers: lowers, Upper: up, Work: work, User: !b.cfg.Privileged})
	if err != nil {
		return b.refused(it, err)
	}
	b.overlays = append(b.overlays, overlayAt{it.Path, m})
	if it.Path == "/" {
		b.root = m
		at, err := entry.OpenBeneath(b.tmp, "root", unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(at) }()
		return attachErr("/", mount.AttachKeep(m, at, ""))
	}
	return b.attach(m, it.Path, true)
}

// refused explains why an overlay could not be mounted.
func (b *builder) refused(it mountplan.Item, err error) error {
	hint := "`sandbox doctor` looks for what is missing."
	if errors.Is(err, unix.EINVAL) {
		hint = "Another program mounted something below it just now, or its file system cannot be a lower layer. Run the command again."
	}
	return &fault.Error{
		Code: fault.Unsupported, Op: "lay a copy-on-write view over", Path: it.Path,
		Reason: "the kernel refused the overlay", Hint: hint, Err: err,
	}
}

// upperDir opens an upper directory, made with the mode and owner that the
// directory in the view shall have: the root of an overlay shows its upper's.
func (b *builder) upperDir(rel string, it mountplan.Item) (int, error) {
	fd, err := entry.OpenBeneath(b.base, rel, unix.O_PATH|unix.O_DIRECTORY)
	if err == nil || !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	if err := store.MakeDirs(b.base, rel, 0o755); err != nil {
		return -1, err
	}
	if fd, err = entry.OpenBeneath(b.base, rel, unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		return -1, err
	}
	if b.cfg.Privileged {
		if err := unix.Fchown(fd, int(it.UID), int(it.GID)); err != nil {
			return fd, cannot("set the owner of", rel, err)
		}
	}
	return fd, cannot("set the mode of", rel, unix.Fchmod(fd, it.Mode))
}

// bind attaches a read-only clone of a host file or directory. What cannot be
// cloned is missing in the view, which is noted: nothing of the host is ever
// there for writing instead.
func (b *builder) bind(it mountplan.Item) error {
	m, err := mount.Bind(unix.AT_FDCWD, it.Path, it.Kind == mountplan.BindDir, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		b.note(it.Path + " is missing inside: " + err.Error())
		return nil //nolint:nilerr // it is noted
	}
	return b.attach(m, it.Path, false)
}

// sealed attaches an overlay without an upper over a host directory: sockets
// and devices below it are the overlay's own, which lead nowhere. The kernel
// wants two lower layers, so an empty directory lies on top; it also gives the
// root its mode and owner.
func (b *builder) sealed(it mountplan.Item) error {
	name := "seed/" + strconv.Itoa(len(b.overlays)) + ".sealed"
	if err := unix.Mkdirat(b.tmp, name, 0o755); err != nil {
		return cannot("make a layer for", it.Path, err)
	}
	top, err := entry.OpenBeneath(b.tmp, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(top) }()
	if err := b.attributes(top, ".", it.Path); err != nil {
		return err
	}
	lower, err := unix.Open(it.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		b.note(it.Path + " is missing inside: " + err.Error())
		return nil // it is noted
	}
	defer func() { _ = unix.Close(lower) }()
	m, err := overlay.Mount(overlay.Spec{Target: it.Path, Lowers: []int{top, lower}, Upper: -1, User: !b.cfg.Privileged})
	if err != nil {
		b.note(it.Path + " is missing inside: " + err.Error())
		return nil // it is noted
	}
	b.overlays = append(b.overlays, overlayAt{it.Path, m})
	return b.attach(m, it.Path, true)
}

// attach puts a mount at a path of the view. A mount point that the sandbox's
// own changes took away stays away.
func (b *builder) attach(m int, path string, keep bool) error {
	if !keep {
		defer func() { _ = unix.Close(m) }()
	}
	at, err := entry.OpenBeneath(b.root, strings.TrimPrefix(path, "/"), unix.O_PATH)
	if err != nil {
		b.note(path + " is missing inside: " + err.Error())
		return nil
	}
	defer func() { _ = unix.Close(at) }()
	return attachErr(path, mount.AttachKeep(m, at, ""))
}

func attachErr(path string, err error) error { return cannot("attach the view of", path, err) }

// pivot makes the view the process's root and drops the host's.
func (b *builder) pivot() error {
	if err := unix.Fchdir(b.root); err != nil {
		return cannot("enter the view", "/", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return cannot("make the view the root", "/", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return cannot("drop the host's root", "/", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return cannot("enter the view", "/", err)
	}
	_ = unix.Close(b.tmp)
	return nil
}

func (b *builder) note(s string) { b.notes = append(b.notes, s) }

// cannot is the error of a step of the build; nil for a nil cause.
func cannot(what, path string, err error) error {
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	code, hint := fault.Failed, ""
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSPC) {
		code, hint = fault.Unsupported, "`sandbox doctor` says what this machine lacks."
	}
	return &fault.Error{Code: code, Op: what, Path: path, Hint: hint, Err: fmt.Errorf("%w", err)}
}
