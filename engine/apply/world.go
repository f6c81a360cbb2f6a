package apply

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// world collects what the plan of an accept must know beside the items.
func (w *work) world(items []*item) (world, error) {
	known := world{
		tree: w.env.Tree, uid: uint32(os.Geteuid()), gid: uint32(os.Getegid()), //nolint:gosec // ids are not negative
		host: map[string]entry.Entry{}, box: map[string]dirFacts{},
		listing: map[string]map[string]entry.Entry{}, covered: map[string]bool{}, shut: map[string]view.Meta{},
	}
	var moves []*item
	for _, it := range items {
		if it.redirect() {
			moves = append(moves, it)
		}
	}
	var err error
	if known.tangled, err = w.tangles(items); err != nil {
		return known, err
	}
	for _, it := range items {
		if err := w.above(&known, it.path(), moves); err != nil {
			return known, err
		}
	}
	for _, it := range items {
		var err error
		switch {
		case it.redirect() && it.here.Type == entry.Dir:
			err = w.listShadow(&known, it)
		case it.host.Type == entry.Dir && (it.change.Kind == changes.Deleted || it.change.Kind == changes.TypeChanged):
			err = w.list(&known, it.hostAt)
		}
		if err != nil {
			return known, err
		}
	}
	return known, nil
}

// above notes the directories above a path, up to the first that the host has.
func (w *work) above(known *world, path string, moves []*item) error {
	for dir := parent(path); dir != "/"; dir = parent(dir) {
		if _, seen := known.host[dir]; seen {
			return nil
		}
		e, err := w.stat(w.host, movesWith(dir, moves))
		if err != nil {
			return err
		}
		known.host[dir] = e
		if err := w.shut(known, dir, e); err != nil {
			return err
		}
		where, box, err := w.upper.look(dir)
		if err != nil {
			return err
		}
		if where == present && box.Type == entry.Dir {
			at, err := w.upper.at(dir)
			if err != nil {
				return err
			}
			meta, err := at.Meta()
			at.Close()
			if err != nil {
				return err
			}
			known.box[dir] = dirFacts{box, meta}
		}
	}
	return nil
}

// shut notes a directory of the user in which he may not write now.
func (w *work) shut(known *world, dir string, e entry.Entry) error {
	const enter = 0o300
	if e.Type != entry.Dir || e.Mode&enter == enter || known.uid == 0 || e.UID != known.uid {
		return nil
	}
	at, err := w.host.At(dir)
	if err != nil {
		return fault.Wrap(fault.Failed, "look at", dir, err)
	}
	defer at.Close()
	meta, err := at.Meta()
	if err != nil {
		return fault.Wrap(fault.Failed, "look at", dir, err)
	}
	known.shut[dir] = meta
	return nil
}

// movesWith is where the host has a directory before the chosen renames.
func movesWith(dir string, moves []*item) string {
	best := ""
	from := dir
	for _, it := range moves {
		if below(dir, it.path()) && len(it.path()) > len(best) {
			best, from = it.path(), it.change.From+dir[len(it.path()):]
		}
	}
	return from
}

// stat looks at one entry; where its directory part is none, nothing is there.
func (w *work) stat(root *rootfs.Root, path string) (entry.Entry, error) {
	none := entry.Entry{Type: entry.None}
	at, err := root.At(path)
	if err != nil {
		if ignoreMissing(err) == nil {
			return none, nil
		}
		return none, fault.Wrap(fault.Failed, "look at", path, err)
	}
	defer at.Close()
	return at.Stat()
}

// list notes all that the host has below a directory, once.
func (w *work) list(known *world, dir string) error {
	for listed := range known.listing {
		if within(dir, listed) {
			return nil
		}
	}
	all := map[string]entry.Entry{}
	at, err := w.host.At(dir)
	if err != nil {
		return fault.Wrap(fault.Failed, "list", dir, err)
	}
	defer at.Close()
	if err := listTree(at, dir, all); err != nil {
		return fault.Wrap(fault.Failed, "list", dir, err)
	}
	for listed := range known.listing {
		if below(listed, dir) {
			delete(known.listing, listed)
		}
	}
	known.listing[dir] = all
	return nil
}

// listShadow notes the directory that makes room for a renamed one, and what
// of it the renamed one has too.
func (w *work) listShadow(known *world, it *item) error {
	if err := w.list(known, it.path()); err != nil {
		return err
	}
	for path := range known.listing[it.path()] {
		e, err := w.stat(w.host, it.change.From+path[len(it.path()):])
		if err != nil {
			return err
		}
		where, _, err := w.upper.look(path)
		if err != nil {
			return err
		}
		known.covered[path] = e.Exists() || where == present
	}
	return nil
}

// listTree adds everything below a directory to all, by path. A directory that
// cannot be read is listed with a name in it that is nobody's, so that it is
// never taken for empty.
func listTree(at rootfs.At, path string, all map[string]entry.Entry) error {
	names, err := at.Names()
	if errors.Is(err, unix.EACCES) {
		all[path+"/\x00"] = entry.Entry{}
		return nil
	}
	if err != nil {
		return err
	}
	in, err := at.Enter()
	if err != nil {
		return err
	}
	defer in.Close()
	for _, name := range names {
		child := in.Sibling(name)
		e, err := child.Stat()
		if err != nil {
			return err
		}
		if !e.Exists() {
			continue
		}
		p := join(path, name)
		all[p] = e
		if e.Type == entry.Dir {
			if err := listTree(child, p, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameTree says whether a directory still holds what was listed: the same
// files, none of which was written since.
func sameTree(at rootfs.At, want map[string]entry.Entry) (bool, error) {
	have := map[string]entry.Entry{}
	if err := listTree(at, "", have); err != nil {
		return false, err
	}
	if len(have) != len(want) {
		return false, nil
	}
	for path, e := range have {
		o, ok := want[path]
		if !ok || e.Type != o.Type || e.Ino != o.Ino || e.Dev != o.Dev {
			return false, nil
		}
		if e.Type != entry.Dir && (e.Size != o.Size || e.MtimeNs != o.MtimeNs || e.CtimeNs != o.CtimeNs) {
			return false, nil
		}
	}
	return true, nil
}
