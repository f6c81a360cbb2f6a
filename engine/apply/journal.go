package apply

import (
	"encoding/json"
	"errors"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/journal"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
)

// What the steps of an operation change: whose paths they name.
const (
	onHost  = "host"
	inUpper = "upper" // the uppers of a sandbox that is down: paths are the sandbox's
	inView  = "view"  // the merged view of the sandbox
)

// operation is what an accept or a reject does, with its journal.
type operation struct {
	*journal.Op
	steps []step
	rows  []row
	// marks are the changes of overlayfs's own marks in the upper.
	marks []mark
	// with is the operation on the sandbox that this one stands on, "" for none.
	with string
	// bases are the records of bases that the operation replaced.
	bases []keptBase
	// lost are the steps of which the upper had no word when an undo began.
	lost map[int]bool
}

// line is one line of an operation's log. One field is set.
type line struct {
	Row  *row  `json:"row,omitempty"`
	Step *step `json:"step,omitempty"`
	// Then, as it is done:
	Mark *mark     `json:"mark,omitempty"` // about to be set
	Made *made     `json:"made,omitempty"` // about to be put at its place
	Try  *int      `json:"try,omitempty"`  // the step is about to be done
	Meta *dirMeta  `json:"meta,omitempty"`
	Lost *[]int    `json:"lost,omitempty"`
	Left *pathText `json:"left,omitempty"` // could not be taken back
	With string    `json:"with,omitempty"`
	Base *keptBase `json:"base,omitempty"`
	// Fresh are paths that had no base before.
	Fresh []pathText `json:"fresh,omitempty"`
}

// keptBase is what was known about the base of a path before an operation.
type keptBase struct {
	Path pathText `json:"path"`
	Kept []byte   `json:"kept,omitempty"`
}

type row struct {
	Path pathText     `json:"path"`
	Kind changes.Kind `json:"kind"`
}

// mark is one overlay xattr of an upper entry, before and after.
type mark struct {
	Path pathText `json:"path"` // in the sandbox
	Name string   `json:"name"`
	Old  string   `json:"old,omitempty"`
	New  string   `json:"new,omitempty"`
}

// made is the entry that a step has built beside its place.
type made struct {
	Step  int         `json:"step"`
	Node  node        `json:"node"`
	After entry.Print `json:"after,omitempty"` // where it is not the step's
	// Staged is a step's, of an index.
	Staged string     `json:"staged,omitempty"`
	Meta   *view.Meta `json:"meta,omitempty"` // where the file system made something else of it
}

// dirMeta is the metadata that a directory got at last.
type dirMeta struct {
	Step int       `json:"step"`
	Meta view.Meta `json:"meta"`
}

// node tells one entry of a file system from all others, whatever its name.
type node struct {
	Dev   uint64 `json:"dev,omitempty"`
	Ino   uint64 `json:"ino,omitempty"`
	Birth int64  `json:"birth,omitempty"`
}

func nodeOf(e entry.Entry) node { return node{e.Dev, e.Ino, e.BtimeNs} }

// is says whether an entry that is there is this one.
func (n node) is(e entry.Entry) bool { return e.Exists() && n.Ino != 0 && n == nodeOf(e) }

// begin writes a new operation to the disk.
func begin(path, kind, tree string, steps []step, rows []Row) (*operation, error) {
	op := &operation{steps: steps}
	for _, r := range rows {
		op.rows = append(op.rows, row{pathText(r.Path), r.Kind})
	}
	var err error
	op.Op, err = journal.Begin(path, kind, tree, func(write func(any) error) error {
		for i := range op.rows {
			if err := write(line{Row: &op.rows[i]}); err != nil {
				return err
			}
		}
		for i := range op.steps {
			if err := write(line{Step: &op.steps[i]}); err != nil {
				return err
			}
		}
		return nil
	})
	return op, err
}

// load reads one operation.
func load(path string, n journal.Name) (*operation, error) {
	op := &operation{}
	var err error
	op.Op, err = journal.Load(path, n, op.take)
	return op, err
}

var errLine = errors.New("a line of it makes no sense")

// take reads one line of the log.
func (op *operation) take(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	step := func(i int) (*step, error) {
		if i < 0 || i >= len(op.steps) {
			return nil, errLine
		}
		return &op.steps[i], nil
	}
	switch {
	case l.Row != nil:
		op.rows = append(op.rows, *l.Row)
	case l.Step != nil:
		op.steps = append(op.steps, *l.Step)
	case l.Mark != nil:
		op.marks = append(op.marks, *l.Mark)
	case l.Try != nil:
		s, err := step(*l.Try)
		if err != nil {
			return err
		}
		s.tried = true
	case l.Made != nil:
		s, err := step(l.Made.Step)
		if err != nil {
			return err
		}
		s.take(l.Made)
	case l.Meta != nil:
		s, err := step(l.Meta.Step)
		if err != nil {
			return err
		}
		s.New = &l.Meta.Meta
	case l.Lost != nil:
		op.lost = map[int]bool{}
		for _, i := range *l.Lost {
			op.lost[i] = true
		}
	case l.With != "":
		op.with = l.With
	case l.Base != nil:
		op.bases = append(op.bases, *l.Base)
	case l.Fresh != nil:
		for _, path := range l.Fresh {
			op.bases = append(op.bases, keptBase{Path: path})
		}
	case l.Left != nil:
	default:
		return errLine
	}
	return nil
}

func (s *step) take(m *made) {
	s.made = m.Node
	if m.After != "" {
		s.After = m.After
	}
	if m.Meta != nil {
		s.New = m.Meta
	}
	if m.Staged != "" {
		s.Staged = m.Staged
	}
}

// try notes that a step is about to be done.
func (op *operation) try(i int) error {
	op.steps[i].tried = true
	return op.Add(line{Try: &i})
}

// identify notes which entries the steps find at their places, so that each
// can be told from what takes its place, whatever their contents. What the
// plan looked at is in found.
func (w *work) identify(root *rootfs.Root, steps []step, found map[string]*entry.Entry) error {
	var moves []step
	for i := range steps {
		s := &steps[i]
		path := string(s.Path)
		if s.Do == doMove {
			path = string(s.From)
		}
		path = movedBack(moves, path)
		if s.Do == doMove {
			moves = append(moves, *s)
		}
		if s.Before == entry.PrintNone {
			continue
		}
		e := found[path]
		if e == nil {
			now, err := w.stat(root, path)
			if err != nil {
				return err
			}
			e = &now
		}
		s.Was, s.size, s.mtime = nodeOf(*e), e.Size, e.MtimeNs
		if e.Type == entry.Dir {
			s.WasMode = e.Mode
		}
	}
	return nil
}

// foundOnHost gives the entries that were looked at, by their paths.
func foundOnHost(items []*item) map[string]*entry.Entry {
	found := make(map[string]*entry.Entry, len(items))
	for _, it := range items {
		if it.host.Exists() {
			found[it.hostAt] = &it.host
		}
		if it.here.Exists() {
			found[it.path()] = &it.here
		}
	}
	return found
}
