package rootfs

import (
	"errors"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// RemoveAll removes an entry, a directory with all that is in it. It does not
// go into other mounts (EXDEV), and nothing there is no error.
func (a At) RemoveAll() error {
	if err := a.removeAll(); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// removeAll is RemoveAll, except that ENOENT says that somebody else was
// quicker somewhere: the keeper clears work directories while a delete runs.
func (a At) removeAll() error {
	err := a.Unlink()
	if err == nil {
		return nil
	}
	now, serr := a.Stat()
	switch {
	case serr != nil:
		return serr
	case now.Type == entry.None:
		return nil
	case now.Type != entry.Dir:
		return err
	}
	if err := a.Rmdir(); err == nil {
		return nil
	}
	// The owner may remove what is in a directory that he cannot write now.
	if now.Mode&0o700 != 0o700 {
		_ = a.Chmod(now.Mode | 0o700)
	}
	names, err := a.names(unix.RESOLVE_NO_XDEV)
	if err != nil {
		return err
	}
	in, err := a.Enter()
	if err != nil {
		return err
	}
	defer in.Close()
	for _, name := range names {
		if err := in.Sibling(name).RemoveAll(); err != nil {
			return err
		}
	}
	return a.Rmdir()
}
