package launch

import (
	"os"

	"golang.org/x/sys/unix"
)

// exe is the running program, whatever its path leads to by now.
const exe = "/proc/self/exe"

// self returns the path by which init executes this program. It is the real
// path, because that is looked up in init's own mount namespace: init then
// takes the right to write from its mount, see initproc. The link in /proc
// leads to the mount of the caller, which init cannot change; it stands in
// when the path leads to another file (an upgrade).
func self() string {
	path, err := os.Readlink(exe)
	if err != nil {
		return exe
	}
	var want, have unix.Stat_t
	if unix.Stat(exe, &want) != nil || unix.Lstat(path, &have) != nil || want.Dev != have.Dev || want.Ino != have.Ino {
		return exe
	}
	return path
}
