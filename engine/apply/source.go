package apply

import (
	"os"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// content opens what a file is made from.
func (w *work) content(s source) (*os.File, error) {
	if s.bytes {
		return memory(s.data)
	}
	find, path := w.upper.at, s.upper
	if s.host != "" {
		find, path = w.host.At, s.host
	}
	at, err := find(path)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	return at.OpenFile()
}

// open is content for a file that is made on the host.
func (w *work) open(s source) (rootfs.Source, error) {
	if s.bytes {
		f, err := memory(s.data)
		if err != nil {
			return rootfs.Source{}, err
		}
		defer func() { _ = f.Close() }()
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return rootfs.Source{}, err
		}
		return rootfs.Source{FD: fd, Entry: entry.Entry{Type: entry.File, Size: int64(len(s.data))}}, nil
	}
	find, path := w.upper.at, s.upper
	if s.host != "" {
		find, path = w.host.At, s.host
	}
	at, err := find(path)
	if err != nil {
		return rootfs.Source{}, err
	}
	defer at.Close()
	return at.OpenSource()
}

// memory is a file that holds data and has no name.
func memory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "hold a version in memory", "", err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	if _, err := f.WriteAt(data, 0); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
