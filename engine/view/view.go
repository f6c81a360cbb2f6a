// Package view is the contract for changing the merged view of a sandbox: what
// the programs inside see. The one implementation that ships asks the
// sandbox's init (PID 1) over the control socket, so that the kernel's own
// overlay code keeps whiteouts, opaque marks and caches right.
package view

import (
	"os"

	"sandbox/engine/entry"
)

// Meta is the metadata that a written entry gets: exactly these xattrs (of
// user.*, trusted.*, POSIX ACLs and file capabilities), no others. MtimeNs 0
// means now.
type Meta struct {
	Mode    uint32            `json:"mode"` // st_mode & 07777
	UID     uint32            `json:"uid"`
	GID     uint32            `json:"gid"`
	MtimeNs int64             `json:"mtime"`
	Xattrs  map[string][]byte `json:"xattrs,omitempty"` // never *.overlay.*
}

// EmptyDir is a print that only Remove takes: a directory that holds nothing.
const EmptyDir entry.Print = "dir:empty"

// View changes entries as a program inside the sandbox would. Paths are
// absolute. No symlink in any directory part is followed (ELOOP).
//
// Every writing call takes expect, the print of the entry that the decision
// was made on; when what was there is something else, the call puts it back
// and returns a *fault.Error with code Stale. expect "" checks nothing.
// Owner changes that are not permitted are left out silently in mode U.
type View interface {
	// Print returns the print of the merged entry; where a directory part is
	// none (a symlink is none), that is PrintNone.
	Print(path string) (entry.Print, error)
	// Write makes path a regular file with all that content holds from offset 0.
	Write(path string, content *os.File, meta Meta, expect entry.Print) error
	// Symlink makes path a symlink.
	Symlink(path, target string, meta Meta, expect entry.Print) error
	// Mkdir makes a directory; one that is there keeps its content and takes meta.
	Mkdir(path string, meta Meta, expect entry.Print) error
	// Mknod makes a FIFO, or a socket that nobody listens on. The kernel lets
	// nobody make a device in a sandbox.
	Mknod(path string, t entry.Type, meta Meta, expect entry.Print) error
	// Remove removes an entry; a directory with all that is in it. With the
	// print EmptyDir only a directory that is empty is removed.
	Remove(path string, expect entry.Print) error
	// Setattr changes mode, owner, mtime and xattrs of an entry, following no symlink.
	Setattr(path string, meta Meta) error
	// Sync makes host changes below the given paths visible: it reconfigures
	// the overlays that hold them (research: a superblock reconfigure drops
	// that overlay's unused dentries). No path means all overlays.
	Sync(paths ...string) error
}
