package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sandbox/engine/changes"
	"sandbox/engine/config"
	"sandbox/engine/fault"
	"sandbox/engine/pattern"
	"sandbox/engine/store"
)

// New returns the engine for a storage directory, which need not exist yet.
// Its symlinks are followed once and for all: what is hidden from sandboxes and
// what is never accepted is the real place.
func New(storage string) (*Engine, error) {
	abs, err := filepath.Abs(storage)
	if err != nil {
		return nil, fault.Wrap(fault.Usage, "find the storage directory", storage, err)
	}
	abs = resolve(abs)
	if abs == "/" {
		return nil, fault.New(fault.Usage, "use storage", abs, "it is the root directory", "Choose another with --storage-dir.")
	}
	return &Engine{Storage: abs}, nil
}

// CheckName accepts the names that a sandbox may have.
func CheckName(name string) error { return config.CheckName(name) }

// Below reports whether an absolute path is dir or lies below it.
func Below(path, dir string) bool { return pattern.Below(path, dir) }

// resolve follows the symlinks of an absolute path as far as it exists.
func resolve(path string) string {
	rest := ""
	for dir := path; ; {
		if found, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(found, rest)
		}
		if dir == "/" {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = filepath.Dir(dir)
	}
}

// box is one sandbox that exists, opened for looking.
type box struct {
	dir  store.Dir
	meta store.Meta
	tree changes.Tree
}

// open finds a sandbox and refuses one that belongs to another user.
func (e *Engine) open(name string) (*box, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	dir, meta, err := store.Open(e.Storage, name)
	if errors.Is(err, fs.ErrPermission) {
		if oerr := dir.CheckOwner(); oerr != nil {
			err = oerr
		}
	}
	if err == nil {
		err = dir.CheckOwner()
	}
	if err != nil {
		return nil, err
	}
	return &box{dir: dir, meta: meta, tree: meta.Tree(dir)}, nil
}

// scanOptions are the same for every look at a change set, so that all calls
// see the same rows.
func scanOptions() changes.Options {
	home, _ := os.UserHomeDir() // without one, the catalogue knows no home files
	return changes.Options{Home: home}
}
