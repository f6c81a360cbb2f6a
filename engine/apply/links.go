package apply

import (
	"errors"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/rootfs"
)

// A file with several names is one file on the host too when its names are
// taken together. Where only some are taken, or the host has a file with more
// names than are replaced, the result says so: half of a pair is another thing
// than the pair.

// inode tells the files of one side apart.
type inode struct{ dev, ino uint64 }

func inodeOf(e entry.Entry) inode { return inode{e.Dev, e.Ino} }

// names counts the names that are taken of each file that has several.
type names struct {
	host  map[inode]uint64   // names that are replaced or go
	first map[inode]pathText // the first name that is made
	count map[inode]uint64   // names that are made
	items map[inode]*item    // whose name is the first
}

func countNames(items []*item) names {
	n := names{map[inode]uint64{}, map[inode]pathText{}, map[inode]uint64{}, map[inode]*item{}}
	for _, it := range items {
		if it.host.Type == entry.File && it.host.Nlink > 1 && it.change.Kind != changes.Added {
			n.host[inodeOf(it.host)]++
		}
	}
	return n
}

// link makes a step that makes a further name of a file a link to the first.
func (a *acceptor) link(it *item, s *step) {
	a.breaks(it)
	if it.box.Nlink < 2 || s.Type != entry.File && s.Type != entry.Symlink {
		return
	}
	key := inodeOf(it.box)
	a.names.count[key]++
	if first, again := a.names.first[key]; again {
		s.Link = first
		return
	}
	a.names.first[key], a.names.items[key] = s.Path, it
}

// breaks says so when a file of the host that has more names is replaced.
func (a *acceptor) breaks(it *item) {
	if it.host.Type != entry.File || it.host.Nlink < 2 || a.names.host[inodeOf(it.host)] >= it.host.Nlink {
		return
	}
	a.note(it.path(), "on the host it is one of %d hard links to a file; those that are not taken too keep what they have", it.host.Nlink)
}

// halves says which new files have more names in the sandbox.
func (a *acceptor) halves(items []*item) {
	for _, it := range items {
		key := inodeOf(it.box)
		if n := a.names.count[key]; n > 0 && a.names.items[key] == it && n < it.box.Nlink {
			a.note(it.path(), "in the sandbox it has %d more hard link(s), not taken with it: on the host it is a file of its own", it.box.Nlink-n)
		}
	}
}

// asLink makes tmp a further name of what an earlier step made. It reports
// false where that cannot be; then the file is copied.
func (r *treeRun) asLink(s *step, tmp rootfs.At, m *made) (bool, error) {
	if s.Link == "" {
		return false, nil
	}
	if r.makes == nil {
		r.makes = map[pathText]int{}
		for i := range r.op.steps {
			if r.op.steps[i].Do == doMake {
				r.makes[r.op.steps[i].Path] = i
			}
		}
	}
	i, known := r.makes[s.Link]
	if !known {
		return false, nil
	}
	first := &r.op.steps[i]
	// Not through the directories that are held: tmp stands in one of them.
	at, err := rootfs.FromFD(r.root.FD()).At(string(s.Link))
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer at.Close()
	// Another mount, too many links, not allowed here: then it is a copy.
	if unix.Linkat(at.Dir, at.Name, tmp.Dir, tmp.Name, 0) != nil {
		return false, nil
	}
	e, err := tmp.Stat()
	if err != nil || !first.made.is(e) {
		return false, errors.Join(err, tmp.Unlink()) // somebody else's by now
	}
	m.After, m.Node, m.Meta = first.After, nodeOf(e), first.New
	return true, nil
}
