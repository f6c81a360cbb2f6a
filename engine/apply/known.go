package apply

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// An undo gives the host's files back, and with that a new ctime, so they look
// newer than the sandbox's change. An upper file carries a mark that says
// otherwise (changes.MarkAccepted); a whiteout and a symlink cannot, so what
// stood in their place is noted here.

const knownFile = "undone.json"

// known are host entries as an undo left them.
type known struct {
	Path  pathText `json:"path"`
	Ino   uint64   `json:"ino"`
	Ctime int64    `json:"ctime"`
}

// Settle takes Conflict off the changes for which the host's side is what an
// undo of ours put there, and nobody changed since.
func Settle(journal string, list []changes.Change) {
	var notes map[stamp]bool
	for i := range list {
		c := &list[i]
		if !c.Conflict {
			continue
		}
		if notes == nil {
			notes = stamps(journal)
		}
		settle(notes, c)
	}
}

// stamp is an inode as it was at one moment, under whatever name: the host's
// directories move when a rename is accepted.
type stamp struct {
	ino   uint64
	ctime int64
}

func settle(notes map[stamp]bool, c *changes.Change) {
	if c.Base == changes.BaseKnown {
		return // the record says more than a time
	}
	if notes[stamp{c.Host.Ino, c.Host.CtimeNs}] {
		c.Conflict = false
	}
}

func stamps(journal string) map[stamp]bool {
	out := map[stamp]bool{}
	for _, n := range readKnown(journal) {
		out[stamp{n.Ino, n.Ctime}] = true
	}
	return out
}

func readKnown(journal string) map[string]known {
	notes := map[string]known{}
	data, err := os.ReadFile(filepath.Join(journal, knownFile))
	if err != nil {
		return notes
	}
	var list []known
	if json.Unmarshal(data, &list) != nil {
		return notes // then they count as conflicts, which loses nothing
	}
	for _, n := range list {
		notes[string(n.Path)] = n
	}
	return notes
}

// noteUndone writes down what an undo put back. Notes that are true no more go.
func (w *work) noteUndone(op *operation) error {
	notes := map[string]known{}
	for path, n := range readKnown(w.env.Journal) {
		// What was noted in a directory that goes back now goes with it.
		path = movedBack(op.steps, path)
		n.Path = pathText(path)
		notes[path] = n
	}
	var moves []step
	for i := range op.steps {
		s := &op.steps[i]
		if s.Do == doMove {
			moves = append(moves, *s)
		}
		if s.Before == entry.PrintNone || s.Do != doRemove && s.Do != doMake {
			continue
		}
		path := movedBack(moves, string(s.Path))
		e, err := w.stat(w.host, path)
		if err != nil || !e.Exists() {
			continue
		}
		notes[path] = known{pathText(path), e.Ino, e.CtimeNs}
		if e.Type != entry.Dir {
			continue
		}
		below := map[string]entry.Entry{}
		at, err := w.host.At(path)
		if err != nil {
			continue
		}
		err = listTree(at, path, below)
		at.Close()
		if err != nil {
			continue
		}
		for p, e := range below {
			notes[p] = known{pathText(p), e.Ino, e.CtimeNs}
		}
	}
	list := []known{}
	for path, n := range notes {
		e, err := w.stat(w.host, path)
		if err == nil && e.Ino == n.Ino && e.CtimeNs == n.Ctime {
			list = append(list, n)
		}
	}
	data, err := json.Marshal(list)
	if err == nil {
		path := filepath.Join(w.env.Journal, knownFile)
		if err = os.WriteFile(path+".new", data, 0o600); err == nil {
			err = os.Rename(path+".new", path)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fault.Wrap(fault.Failed, "write the journal", w.env.Journal, err)
}

// movedBack is where something is once the moves among steps were taken back.
func movedBack(steps []step, path string) string {
	for i := len(steps) - 1; i >= 0; i-- {
		if s := &steps[i]; s.Do == doMove && within(path, string(s.Path)) {
			path = string(s.From) + path[len(s.Path):]
		}
	}
	return path
}
