package apply

import (
	"os"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
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
