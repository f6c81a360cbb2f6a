package apply

import (
	"strings"

	"sandbox/engine/changes"
	"sandbox/engine/rootfs"
)

// Directories that the kernel renamed hang together: where one comes from may
// be in another, or be the place where another one went. A part of them cannot
// be taken alone without guessing what becomes of the rest, so such a part is
// refused before anything is written, and the reason names what belongs to it.

// renamedDir is a renamed directory of the sandbox, chosen or not.
type renamedDir struct{ from, to string }

// tangles finds, for each item, a renamed directory that was not chosen and
// that it cannot be taken without.
func (w *work) tangles(items []*item) (map[*item]renamedDir, error) {
	chosen := map[string]bool{}
	look := false
	for _, it := range items {
		if it.redirect() {
			chosen[it.path()] = true
		}
		inTheWay := it.change.Kind == changes.Added && it.host.Exists()
		look = look || it.redirect() || inTheWay || w.upper.renamed(it.path())
	}
	if !look {
		return nil, nil
	}
	var others []renamedDir
	for _, layer := range w.env.Tree.Layers {
		err := w.eachDir(layer.Host, func(path string, at rootfs.At) error {
			to := w.upper.attr(at, "redirect")
			if to == "" || chosen[path] {
				return nil
			}
			from := join(parent(path), to)
			if strings.HasPrefix(to, "/") {
				from = strings.TrimSuffix(layer.Host, "/") + to
			}
			if from != path {
				others = append(others, renamedDir{from, path})
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	out := map[*item]renamedDir{}
	for _, it := range items {
		for _, o := range others {
			if it.needs(o) {
				out[it] = o
				break
			}
		}
	}
	return out, nil
}

// needs says that an item cannot be taken without the renamed directory.
func (it *item) needs(o renamedDir) bool {
	if below(it.path(), o.to) || (it.change.Kind == changes.Deleted && within(o.from, it.hostAt)) {
		return true
	}
	if !it.redirect() {
		return within(o.from, it.path()) || (it.change.From != "" && within(o.from, it.change.From))
	}
	touch := func(a, b string) bool { return within(a, b) || within(b, a) }
	// What was taken out of it, and is somewhere else now, is found again under
	// the new name (see correctRedirects).
	takenOut := below(o.from, it.change.From)
	return touch(it.path(), o.to) || touch(it.path(), o.from) || touch(it.change.From, o.to) ||
		(touch(it.change.From, o.from) && !takenOut)
}

func (o renamedDir) reason() string {
	return "it hangs together with the directory that was renamed from " + o.from + " to " + o.to + "; choose that too"
}
