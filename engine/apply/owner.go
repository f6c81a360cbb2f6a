package apply

import (
	"fmt"

	"sandbox/engine/entry"
	"sandbox/engine/view"
)

// A program that root runs in a sandbox may give its files to anybody. On the
// host an entry belongs, unless it is asked for, to somebody who is there
// already: to the one who accepts, to its owner of now, or to the owner of the
// directory it comes into. The same holds for the group.

// owner leaves out an owner or a group that nobody asked for.
func (a *acceptor) owner(it *item, meta view.Meta) view.Meta {
	if a.opt.Special {
		return meta
	}
	kept := a.world.domestic(it.path(), it.host, meta)
	if kept.UID != meta.UID || kept.GID != meta.GID {
		a.skip(it.path(), "its owner %s was left out", idText(meta))
	}
	return kept
}

// domestic is metadata with an owner and a group that are no foreign ones, for
// an entry at path that takes the place of host.
func (w *world) domestic(path string, host entry.Entry, meta view.Meta) view.Meta {
	dir := w.host[parent(path)]
	uid, gid := w.uid, w.gid
	if host.Exists() {
		uid, gid = host.UID, host.GID
	}
	if !someone(meta.UID, w.uid, host, dir, func(e entry.Entry) uint32 { return e.UID }) {
		meta.UID = uid
	}
	if !someone(meta.GID, w.gid, host, dir, func(e entry.Entry) uint32 { return e.GID }) {
		meta.GID = gid
	}
	return meta
}

// someone says whether an owner (or a group) is that of somebody who is there.
func someone(id, self uint32, host, dir entry.Entry, of func(entry.Entry) uint32) bool {
	return id == self || (host.Exists() && id == of(host)) || (dir.Exists() && id == of(dir))
}

func idText(m view.Meta) string { return fmt.Sprintf("%d:%d", m.UID, m.GID) }
