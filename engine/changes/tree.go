package changes

import (
	"slices"
	"strings"

	"sandbox/engine/entry"
)

// UserXattr is the prefix in Tree.Xattr of a sandbox that ran in a user namespace.
const UserXattr = "user.overlay."

// join puts a name below an absolute path.
func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	if dir == "/" {
		return strings.HasPrefix(path, "/")
	}
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/')
}

// Masked reports whether path is, or lies below, a directory whose upper
// content is never a change: a mask, or the sandbox's own storage.
func (t Tree) Masked(path string) bool {
	if t.Storage != "" && within(path, t.Storage) {
		return true
	}
	return slices.ContainsFunc(t.Masks, func(m string) bool { return within(path, m) })
}

// LayerOf returns the layer that path lies in: the one with the longest Host.
func (t Tree) LayerOf(path string) (Layer, bool) {
	best, ok := Layer{}, false
	for _, l := range t.Layers {
		if within(path, l.Host) && (!ok || len(l.Host) > len(best.Host)) {
			best, ok = l, true
		}
	}
	return best, ok
}

// UpperPath returns the absolute path in the upper directory that stands for
// path. It says nothing about what is there. A layer's root gives the upper
// directory itself.
func (t Tree) UpperPath(path string) (string, bool) {
	l, ok := t.LayerOf(path)
	if !ok {
		return "", false
	}
	rel := strings.TrimPrefix(path[len(strings.TrimSuffix(l.Host, "/")):], "/")
	if rel == "" {
		return t.layerUpper(l), true
	}
	return t.layerUpper(l) + "/" + rel, true
}

func (t Tree) layerUpper(l Layer) string {
	return strings.TrimSuffix(t.Storage, "/") + "/" + l.Upper
}

// stops are the paths at which a walk of one layer ends: other layers' roots and masks.
func (t Tree) stops() map[string]bool {
	out := make(map[string]bool, len(t.Layers)+len(t.Masks)+1)
	for _, l := range t.Layers {
		out[l.Host] = true
	}
	for _, m := range t.Masks {
		out[m] = true
	}
	if t.Storage != "" {
		out[t.Storage] = true
	}
	return out
}

// ownerCounts reports whether uid and gid can be a change. In a user namespace
// that maps one user to itself, chown can give a file to nobody else, and a
// file with other ids cannot be copied up. What remains are false alarms: an
// editor that renames a new file over one of root's in the user's directory,
// and seeded directories that belong to root on the host.
func (t Tree) ownerCounts() bool { return t.Xattr != UserXattr }

func (t Tree) sameOwner(a, b entry.Entry) bool {
	return !t.ownerCounts() || (a.UID == b.UID && a.GID == b.GID)
}

// seeded reports whether an upper directory is a copy of one that was put in
// place of another user's, which a user namespace cannot copy up (EOVERFLOW).
// Its mode is what that user's directory lets us do; no program inside can
// change it.
func (t Tree) seeded(up, lo entry.Entry) bool {
	return !t.ownerCounts() && up.UID != lo.UID
}
