// Package rootfs writes to a file tree through a held root descriptor. No call
// follows a symbolic link in any part of a path, so a tree that somebody else
// is changing at the same moment cannot lead a write out of it.
//
// It is for trees that hold hostile names and contents: the host while a
// change is accepted, the merged view of a sandbox. Looking is package entry's
// work; for files of our own (settings, logs) use package os.
package rootfs

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// Root is a directory tree, held by a descriptor.
type Root struct {
	fd    int
	owned bool
	dirs  *heldDirs // nil: every directory is looked up anew
}

// Open holds the tree below dir. Symlinks in dir itself are followed: it is
// the caller's own word.
func Open(dir string) (*Root, error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return &Root{fd: fd, owned: true}, nil
}

// FromFD works below a descriptor that stays the caller's.
func FromFD(fd int) *Root { return &Root{fd: fd} }

// Close lets go of a root that Open made.
func (r *Root) Close() error {
	r.Hold(false)
	if !r.owned {
		return nil
	}
	r.owned = false
	return unix.Close(r.fd)
}

// FD is the held descriptor (O_PATH); it stays the root's.
func (r *Root) FD() int { return r.fd }

// At is the place of one entry: an open directory and a name in it. It stays
// good when the directory is moved. Close it.
type At struct {
	Dir  int // O_PATH descriptor of the directory
	Name string
	Path string // the whole path, for messages

	held *heldDir // that Dir is shared with; nil when it is this place's own
}

// At finds the directory part of path and says where the entry is or would
// be. The entry itself is not looked at. The root has no place.
func (r *Root) At(path string) (At, error) {
	if r.dirs != nil {
		return r.dirs.at(r.fd, path)
	}
	dir, name, err := entry.OpenParent(r.fd, path)
	if err != nil {
		return At{}, err
	}
	return At{Dir: dir, Name: name, Path: path}, nil
}

// Close closes the directory.
func (a At) Close() {
	if a.held != nil {
		a.held.release()
		return
	}
	_ = unix.Close(a.Dir)
}

// Sibling is another name in the same directory. It shares the descriptor.
func (a At) Sibling(name string) At {
	return At{Dir: a.Dir, held: a.held, Name: name, Path: a.Path[:strings.LastIndexByte(a.Path, '/')+1] + name}
}

// Enter opens the directory that a is, as the place of its children: Sibling
// gives them. Close it.
func (a At) Enter() (At, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC}
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat2(a.Dir, a.Name, &how)
		return err
	})
	if err != nil {
		return At{}, a.wrap("open", err)
	}
	return At{Dir: fd, Path: a.Path + "/"}, nil
}

// Stat says what is there; nothing is the type None and no error.
func (a At) Stat() (entry.Entry, error) { return entry.At(a.Dir, a.Name) }

// Print is the fingerprint of what is there now.
func (a At) Print() (entry.Print, error) { return entry.PrintOf(a.Dir, a.Name) }

// OpenFile opens a regular file for reading; anything else is an error.
func (a At) OpenFile() (*os.File, error) {
	f, _, err := entry.OpenFile(a.Dir, a.Name)
	return f, err
}

// Names lists a directory that is not a symlink.
func (a At) Names() ([]string, error) { return a.names(0) }

// names with RESOLVE_NO_XDEV refuses a directory on which something is mounted.
func (a At) names(resolve uint64) ([]string, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: resolve}
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat2(a.Dir, a.Name, &how)
		return err
	})
	if err != nil {
		return nil, a.wrap("list", err)
	}
	defer func() { _ = unix.Close(fd) }()
	list, err := entry.ReadDir(fd)
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = d.Name
	}
	return names, err
}

func (a At) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: a.Path, Err: err}
}

// again repeats what a signal interrupted.
func again(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
