// Package store knows where a sandbox's parts lie on disk, and its locks.
//
//	~/.sandboxes/NAME/
//	  sandbox.json  Meta                 lock     flock, held while mounted
//	  ctl.sock      control socket       op.lock  flock, one operation at a time
//	  init.log      log of init          keeper.log
//	  upper/…       U: mirrors host paths   upper-mnt/<n>  P: one per mount
//	  upper-skel/   skel/                work.<n>/  journal/  base/  nested/
package store

import (
	"time"

	"sandbox/engine/changes"
)

// Format is the number of the on-disk format that this binary writes.
const Format = 1

// The modes of a sandbox (see doc/architecture.md). A sandbox keeps the mode
// it was made in, because the xattr names differ.
const (
	ModeUser       = "U" // user namespace, userxattr
	ModePrivileged = "P" // real root, trusted.* xattrs
)

// Meta is sandbox.json.
type Meta struct {
	Format  int             `json:"format"`
	Name    string          `json:"name"`
	Created time.Time       `json:"created"`
	Mode    string          `json:"mode"`
	UID     int             `json:"uid"`
	Net     string          `json:"net"`               // of the newest start: none, host, filtered
	Project string          `json:"project,omitempty"` // directory it was made in
	Layers  []changes.Layer `json:"layers"`            // every overlay it ever had
	Masks   []string        `json:"masks"`             // host paths hidden inside
}

// Tree is what a scan has to know about the sandbox.
func (m Meta) Tree(dir Dir) changes.Tree {
	xattr := changes.UserXattr
	if m.Mode == ModePrivileged {
		xattr = "trusted.overlay."
	}
	masks := append([]string{dir.Storage}, m.Masks...)
	return changes.Tree{Storage: dir.Path(), Layers: m.Layers, Xattr: xattr, Masks: masks}
}
