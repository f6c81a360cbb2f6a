package apply

import (
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// putOne makes path in the sandbox what at is: a directory without what is in it.
func putOne(v view.View, path string, at rootfs.At, expect entry.Print) error {
	meta, err := at.Meta()
	if err != nil {
		return err
	}
	return putAs(v, path, at, meta, expect)
}

// putAs is putOne with other metadata.
func putAs(v view.View, path string, at rootfs.At, meta view.Meta, expect entry.Print) error {
	e, err := at.Stat()
	if err != nil {
		return err
	}
	switch e.Type {
	case entry.File:
		f, err := at.OpenFile()
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		return v.Write(path, f, meta, expect)
	case entry.Dir:
		return v.Mkdir(path, meta, expect)
	case entry.Symlink:
		return v.Symlink(path, e.Target, meta, expect)
	case entry.Fifo, entry.Socket:
		return v.Mknod(path, e.Type, meta, expect)
	default:
		return fault.New(fault.Failed, "put back", path, "an entry of type "+string(e.Type)+" cannot be made in the sandbox", "")
	}
}

func isDevice(t entry.Type) bool { return t == entry.Char || t == entry.Block }

// putTree is putOne with all that is in a directory.
func putTree(v view.View, path string, at rootfs.At, expect entry.Print) error {
	e, err := at.Stat()
	if err != nil {
		return err
	}
	if isDevice(e.Type) {
		return nil // nobody can make one in a sandbox
	}
	if err := putOne(v, path, at, expect); err != nil || e.Type != entry.Dir {
		return err
	}
	names, err := at.Names()
	if err != nil {
		return err
	}
	in, err := at.Enter()
	if err != nil {
		return err
	}
	defer in.Close()
	for _, name := range names {
		if err := putTree(v, join(path, name), in.Sibling(name), expect); err != nil {
			return err
		}
	}
	meta, err := at.Meta() // once more: what came into it moved its mtime
	if err != nil {
		return err
	}
	return v.Setattr(path, meta)
}
