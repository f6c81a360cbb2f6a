package apply

import (
	"context"

	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/journal"
)

// A file that both sides changed, in places that go together, is accepted by
// merging it: first the sandbox gets the merged version, as an operation of its
// own, and then the host gets what the sandbox has. So no later accept finds
// the user's edit missing in the sandbox, and takes it back.

// mergeable are the items that are accepted by a merge.
func mergeable(items []*item) []*item {
	var out []*item
	for _, it := range items {
		c := it.change
		if c.Base == changes.BaseKnown && c.Kind == changes.Modified && !c.Conflict && it.hunks == nil && it.trouble == "" &&
			it.host.Type == entry.File && it.box.Type == entry.File && it.hostPrint != it.boxPrint {
			out = append(out, it)
		}
	}
	return out
}

// mergeIn writes the merged versions to the sandbox and returns the operation,
// which Undo of the accept takes back too, and the selections of the accept:
// decisions on what is on the two sides then. Without anything to merge the
// operation is nil.
func (w *work) mergeIn(ctx context.Context, items []*item, sel []Selection) (*operation, []Selection, error) {
	var steps []step
	var rows []Row
	next := append([]Selection(nil), sel...)
	for _, it := range mergeable(items) {
		host, err := w.side(it.host, it.hostAt, &it.hostPrint, w.host.At)
		if err != nil {
			return nil, nil, explain("accept", it.path(), err)
		}
		old, ok := w.baseOf(it.change, it.path(), host)
		if !ok {
			return nil, nil, stale(it.path(), "its base")
		}
		box, err := w.side(it.box, it.path(), &it.boxPrint, w.upper.at)
		if err != nil {
			return nil, nil, explain("accept", it.path(), err)
		}
		merged, clean := diff.Merge(old, host, box)
		if !clean {
			return nil, nil, stale(it.path(), "one of its versions")
		}
		after := entry.PrintBytes(merged.Data)
		for i := range next {
			if next[i].Change.Path == it.path() {
				next[i].Host, next[i].Sandbox = it.hostPrint, after
			}
		}
		if after == it.boxPrint && merged.Mode == it.box.Mode {
			continue
		}
		meta := it.boxMeta
		meta.Mode, meta.MtimeNs = merged.Mode, 0
		steps = append(steps, step{
			Do: doMake, Path: pathText(it.path()), Type: entry.File, Before: it.boxPrint, After: after,
			New: &meta, source: source{data: merged.Data, bytes: true}, change: it.change.Kind,
		})
		rows = append(rows, Row{it.path(), it.change.Kind})
	}
	if len(steps) == 0 {
		return nil, next, nil
	}
	v, err := w.env.View()
	if err != nil {
		return nil, nil, err
	}
	op, err := begin(w.env.Journal, "merge", inView, steps, rows)
	if err != nil {
		return nil, nil, err
	}
	r := &viewRun{w: w, op: op, v: v}
	if err := r.doAll(ctx); err != nil {
		err = w.failInView(r, err)
		op.Close()
		return nil, nil, err
	}
	return op, next, nil
}

// unmerge takes a merge back of which the accept did not come to its end.
func (w *work) unmerge(op *operation, cause error) error {
	if op == nil {
		return cause
	}
	if err := w.undoReject(op); err != nil {
		return cause // the sandbox has both edits now, and the next accept finds them
	}
	return cause
}

// undoMerge takes back the merge that an accept stood on, when the sandbox still
// has it.
func (w *work) undoMerge(op *operation) error {
	all, err := journal.List(w.env.Journal)
	if err != nil {
		return err
	}
	for _, name := range all {
		if name.ID != op.with || name.State != journal.Done {
			continue
		}
		merge, err := load(w.env.Journal, name)
		if err != nil {
			return err
		}
		defer merge.Close()
		return w.undoReject(merge)
	}
	return nil
}
