package renames

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// pathMax is the kernel's PATH_MAX: with its final zero no path is longer.
const pathMax = 4096

// readPath reads a path from the caller's memory. One read never crosses a
// page, because the next one may not be there. What is no path (unmapped,
// empty, too long) is left for the kernel to say.
func readPath(pid int, addr uint64, buf *[pathMax]byte) (string, bool) {
	for got := 0; got < pathMax; {
		want := min(pathMax-int((addr+uint64(got))%pathMax), pathMax-got) //nolint:gosec // below a page
		local := unix.Iovec{Base: &buf[got], Len: uint64(want)}           //nolint:gosec // below a page
		remote := unix.RemoteIovec{Base: uintptr(addr) + uintptr(got), Len: want}
		n, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
		if err != nil || n <= 0 {
			return "", false
		}
		if end := bytes.IndexByte(buf[got:got+n], 0); end >= 0 {
			return string(buf[:got+end]), got+end > 0
		}
		got += n
	}
	return "", false
}
