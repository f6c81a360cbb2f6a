package initproc

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/mountplan"
)

// skeleton makes the directories above all overlays, and the files and
// symlinks in them, on the tmpfs. It is made anew at each start, so its copies
// of host files are as old as the sandbox's uptime.
func (b *builder) skeleton(items []mountplan.Item) error {
	skel, err := entry.OpenBeneath(b.tmp, "skel", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(skel) }()
	for _, it := range items {
		if it.Path == "/" {
			continue
		}
		if err := b.skelEntry(skel, it); err != nil {
			return err
		}
	}
	for i := len(items) - 1; i >= 0; i-- { // children first: a directory may lose its write bits
		it := items[i]
		if it.Kind == mountplan.SkelDir || it.Kind == mountplan.Empty {
			rel := "." + it.Path
			if err := unix.Fchmodat(skel, rel, it.Mode, 0); err != nil {
				return cannot("set the mode of", it.Path, err)
			}
		}
	}
	return nil
}

func (b *builder) skelEntry(skel int, it mountplan.Item) error {
	rel := strings.TrimPrefix(it.Path, "/")
	switch it.Kind {
	case mountplan.SkelLink:
		return cannot("make symlink", it.Path, unix.Symlinkat(it.Link, skel, rel))
	case mountplan.SkelFile:
		return b.copyFile(it.Path, skel, rel, it.Mode)
	case mountplan.BindFile:
		return makeFile(skel, rel)
	default:
		return cannot("make directory", it.Path, unix.Mkdirat(skel, rel, 0o755))
	}
}

func makeFile(dirfd int, rel string) error {
	fd, err := unix.Openat(dirfd, rel, unix.O_WRONLY|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return cannot("make", rel, err)
	}
	return unix.Close(fd)
}

// copyFile copies a small host file. One that cannot be read any more is left
// out, as it is for the user outside.
func (b *builder) copyFile(hostPath string, dirfd int, rel string, mode uint32) error {
	data, err := os.ReadFile(hostPath)
	if err != nil {
		b.note(hostPath + " is missing inside: " + err.Error())
		return nil //nolint:nilerr // it is noted
	}
	fd, err := unix.Openat(dirfd, rel, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, mode)
	if err != nil {
		return cannot("copy", hostPath, err)
	}
	f := os.NewFile(uintptr(fd), rel)
	_, err = f.Write(data)
	if err == nil {
		err = unix.Fchmod(fd, mode)
	}
	if err == nil {
		var st unix.Stat_t
		if unix.Stat(hostPath, &st) == nil {
			tv := []unix.Timespec{st.Mtim, st.Mtim}
			_ = unix.UtimesNanoAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), tv, 0)
		}
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return cannot("copy", hostPath, err)
}

// seed makes the seed layer of an overlay, or returns -1 when it has none. The
// directories on the way to a seeded entry take the host's mode and owner,
// because the topmost lower layer is the one whose attributes show.
func (b *builder) seed(leaf string) (int, error) {
	seeds := b.cfg.Plan.Seeds
	name := ""
	for _, s := range seeds {
		if at, ok := b.cfg.Plan.LeafOf(s.Path); ok && at == leaf {
			name = "seed/" + strconv.Itoa(len(b.overlays))
			break
		}
	}
	if name == "" {
		return -1, nil
	}
	if err := unix.Mkdirat(b.tmp, name, 0o755); err != nil {
		return -1, cannot("make a seed layer for", leaf, err)
	}
	fd, err := entry.OpenBeneath(b.tmp, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	if err := b.attributes(fd, ".", leaf); err != nil {
		return fd, err
	}
	for _, s := range seeds {
		if at, ok := b.cfg.Plan.LeafOf(s.Path); ok && at == leaf {
			if err := b.seedOne(fd, leaf, s); err != nil {
				return fd, err
			}
		}
	}
	return fd, nil
}

func (b *builder) seedOne(fd int, leaf string, s mountplan.Seed) error {
	rel := strings.TrimPrefix(strings.TrimPrefix(s.Path, leaf), "/")
	for i := range len(rel) {
		if rel[i] != '/' {
			continue
		}
		err := unix.Mkdirat(fd, rel[:i], 0o755)
		if err == nil {
			err = b.attributes(fd, rel[:i], path.Join(leaf, rel[:i]))
		}
		if err := cannot("seed", s.Path, err); err != nil {
			return err
		}
	}
	if s.Hidden {
		// a whiteout: the kernel's overlayfs.rst, "whiteouts and opaque directories"
		return cannot("hide", s.Path, unix.Mknodat(fd, rel, unix.S_IFCHR, 0))
	}
	if err := unix.Mkdirat(fd, rel, 0o755); err != nil {
		return cannot("seed", s.Path, err)
	}
	if s.Copy {
		ents, _ := os.ReadDir(s.Path)
		for _, e := range ents {
			if e.Type().IsRegular() {
				if err := b.copyFile(path.Join(s.Path, e.Name()), fd, path.Join(rel, e.Name()), 0o644); err != nil {
					return err
				}
			}
		}
	}
	return cannot("seed", s.Path, unix.Fchmodat(fd, rel, s.Mode, 0))
}

// attributes gives a seed directory the mode, owner and times of the host's.
func (b *builder) attributes(fd int, rel, hostPath string) error {
	var st unix.Stat_t
	if err := unix.Lstat(hostPath, &st); err != nil {
		return cannot("look at", hostPath, err)
	}
	mode := st.Mode & 0o7777
	if b.cfg.Privileged {
		if err := unix.Fchownat(fd, rel, int(st.Uid), int(st.Gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return cannot("set the owner of", hostPath, err)
		}
	} else if unix.Access(hostPath, unix.W_OK) != nil {
		mode &^= 0o222
	}
	if err := unix.Fchmodat(fd, rel, mode, 0); err != nil {
		return cannot("set the mode of", hostPath, err)
	}
	return cannot("set the times of", hostPath,
		unix.UtimesNanoAt(fd, rel, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW))
}
