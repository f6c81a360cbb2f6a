package apply

import (
	"sandbox/engine/entry"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// meta is the sandbox's metadata without what is not to be given unasked.
func (a *acceptor) meta(it *item) view.Meta {
	meta := a.owner(it, it.boxMeta)
	meta.Mode = a.bits(it, meta.Mode)
	if _, has := meta.Xattrs[rootfs.Capability]; has && !a.opt.Special {
		meta.Xattrs = withoutCapability(meta.Xattrs)
		a.skip(it.path(), "its file capabilities were left out")
	}
	return meta
}

// bits takes setuid and setgid off a file. On a directory setgid only hands
// the group down, and stays.
func (a *acceptor) bits(it *item, mode uint32) uint32 {
	const setuid, setgid = 0o4000, 0o2000
	special := mode & (setuid | setgid)
	if it.box.Type == entry.Dir {
		special = mode & setuid
	}
	if special == 0 || a.opt.Special {
		return mode
	}
	a.skip(it.path(), "its setuid or setgid bit was left out")
	return mode &^ special
}

func withoutCapability(all map[string][]byte) map[string][]byte {
	kept := map[string][]byte{}
	for name, value := range all {
		if name != rootfs.Capability {
			kept[name] = value
		}
	}
	return kept
}

// onlyBits says that nothing is left of a change of attributes once the
// special bits and capabilities are taken off.
func onlyBits(host, box, stripped view.Meta) bool {
	return sameMeta(host, stripped) && !sameMeta(host, box)
}

func sameMeta(x, y view.Meta) bool {
	if x.Mode != y.Mode || x.UID != y.UID || x.GID != y.GID || len(x.Xattrs) != len(y.Xattrs) {
		return false
	}
	for name, value := range x.Xattrs {
		if other, ok := y.Xattrs[name]; !ok || string(other) != string(value) {
			return false
		}
	}
	return true
}
