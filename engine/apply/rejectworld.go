package apply

import (
	"sandbox/engine/changes"
	"sandbox/engine/entry"
)

// rejectWorld collects what the plan of a reject must know beside the items.
func (w *work) rejectWorld(items []*item) (world, error) {
	known := world{
		tree: w.env.Tree, host: map[string]entry.Entry{}, box: map[string]dirFacts{},
		listing: map[string]map[string]entry.Entry{}, inBox: map[string]map[string]entry.Entry{},
	}
	known.covered, known.inPlace = map[string]bool{}, map[string]entry.Entry{}
	var err error
	if known.tangled, err = w.tangles(items); err != nil {
		return known, err
	}
	for _, it := range items {
		for _, path := range []string{it.path(), it.hostAt} {
			if err := w.boxAbove(&known, path); err != nil {
				return known, err
			}
		}
		if it.host.Type == entry.Dir && (it.change.Kind == changes.Deleted || it.change.Kind == changes.TypeChanged) {
			all := map[string]entry.Entry{}
			at, err := w.host.At(it.hostAt)
			if err == nil {
				err = listTree(at, it.hostAt, all)
				at.Close()
			}
			if err != nil {
				return known, explain("reject", it.path(), err)
			}
			known.listing[it.hostAt] = all
		}
		if it.change.Kind == changes.Renamed && it.result == nil {
			where, e, err := w.upper.look(it.change.From)
			if err != nil {
				return known, explain("reject", it.path(), err)
			}
			if where == present {
				known.inPlace[it.change.From] = e
			}
		}
		if it.redirect() && it.here.Type == entry.Dir {
			if err := w.listShadow(&known, it); err != nil {
				return known, explain("reject", it.path(), err)
			}
		}
		if leaves(it) && it.box.Type == entry.Dir {
			list, err := w.upper.list(it.path())
			if err != nil {
				return known, explain("reject", it.path(), err)
			}
			if it.redirect() {
				w.withoutCopies(it, list)
			}
			known.inBox[it.path()] = list
		}
	}
	return known, nil
}

// withoutCopies takes out of what the upper has in a renamed directory what is
// the same as the host's: nobody's change.
func (w *work) withoutCopies(it *item, list map[string]entry.Entry) {
	for path, e := range list {
		if e.Type == entry.Dir {
			continue
		}
		host, err := w.host.At(it.change.From + path[len(it.path()):])
		if err != nil {
			continue
		}
		up, err := w.upper.at(path)
		if err == nil {
			if h, err := host.Stat(); err == nil && h.Type == e.Type {
				if same, err := equalEntry(up, e, host, h); err == nil && same {
					delete(list, path)
				}
			}
			up.Close()
		}
		host.Close()
	}
}

// boxAbove notes the directories above a path: what the upper says of each,
// where it says something, and what the host has.
func (w *work) boxAbove(known *world, path string) error {
	for dir := parent(path); dir != "/"; dir = parent(dir) {
		if _, seen := known.host[dir]; seen {
			return nil
		}
		host, err := w.stat(w.host, dir)
		if err != nil {
			return err
		}
		known.host[dir] = host
		where, e, err := w.upper.look(dir)
		if err != nil {
			return err
		}
		if where != through {
			known.box[dir] = dirFacts{entry: e}
		}
	}
	return nil
}
