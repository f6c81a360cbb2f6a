package apply

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/journal"
)

// Accept takes the selected changes to the host.
//
// Either all that is not listed in Skipped is done, or the error says why
// nothing is: fault.Conflict when the host changed too (see
// Options.SkipConflicts), fault.Stale when a side is not what the decision was
// made on. Directories that the host has not are made, and listed.
//
// A selection with Hunks is a decision on exactly what was seen, so it is taken
// on a file that the host changed too: the blocks are those between the host's
// version of now and the sandbox's.
//
// The caller holds the sandbox's operation lock.
func Accept(ctx context.Context, env Env, sel []Selection, opt Options) (Result, error) {
	w, err := open(env)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	defer frugal(len(sel))()
	w.host.Hold(true)
	w.upper.hold(true)
	items, p, err := w.planAccept(ctx, sel, opt)
	if err != nil {
		return Result{}, err
	}
	merge, merged, err := w.mergeIn(ctx, items, sel)
	if err != nil {
		return Result{}, err
	}
	if merge != nil {
		defer merge.Close()
		w.host.Forget()
		w.upper.hold(false)
		w.upper.hold(true)
		if items, p, err = w.planAccept(ctx, merged, opt); err != nil {
			return Result{}, w.unmerge(merge, err)
		}
	}
	wholes := inUnits(sel)
	if err := wholes.complete(p.skipped); err != nil {
		return Result{}, err
	}
	p.done = wholes.rows(p.done)
	if len(p.steps) == 0 {
		return p.result(), nil
	}
	wholes.order(p.steps)
	err = w.identify(w.host, p.steps, foundOnHost(items))
	items = nil //nolint:ineffassign,wastedassign // they are many: let them go before the work begins
	var r Result
	if err == nil {
		r, err = w.accept(ctx, p, opt, merge)
	}
	if err != nil {
		err = w.unmerge(merge, err)
	}
	return r, err
}

func (w *work) planAccept(ctx context.Context, sel []Selection, opt Options) ([]*item, *plan, error) {
	items, err := w.gather(ctx, sel, accepting)
	if err != nil {
		return nil, nil, err
	}
	known, err := w.world(items)
	if err != nil {
		return nil, nil, err
	}
	p, err := planAccept(items, known, opt)
	return items, p, err
}

// accept carries a plan out.
func (w *work) accept(ctx context.Context, p *plan, opt Options, merge *operation) (Result, error) {
	rows := sortRows(p.done)
	w.upper.hold(false)
	w.host.Forget() // what was looked up for the plan
	op, err := begin(w.env.Journal, "accept", onHost, p.steps, rows)
	if err != nil {
		return Result{}, explain("accept", "", err)
	}
	defer op.Close()
	crash("begun")
	p.announce(opt)
	r := w.run(op)
	if merge != nil {
		op.with = merge.ID
		err = op.Add(line{With: op.with})
	}
	if err == nil {
		err = w.acceptSteps(ctx, r)
	}
	if err != nil {
		return Result{}, w.fail(r, err)
	}
	err = errors.Join(r.conclude(), w.sync(op))
	journal.Trim(w.env.Journal)
	result := p.result()
	result.ID = op.ID
	return result, err
}

// result is what the plan says, once it is done.
func (p *plan) result() Result {
	return Result{Done: sortRows(p.done), Skipped: p.skipped, Preview: p.preview()}
}

func (p *plan) preview() Preview { return Preview{Implied: sortRows(p.implied), Notes: p.notes} }

// announce says, before the first write, what was not chosen.
func (p *plan) announce(opt Options) {
	if opt.Before != nil && len(p.implied)+len(p.notes) > 0 {
		opt.Before(p.preview())
	}
}

// manyChanges is from how many changes on memory is worth more than time.
const manyChanges = 10_000

// frugal keeps the memory of a large operation near to what it needs, until
// the function that it gives is called.
func frugal(n int) (restore func()) {
	if n < manyChanges {
		return func() {}
	}
	old := debug.SetGCPercent(30)
	return func() { debug.SetGCPercent(old) }
}

// acceptSteps does all of an accept that can be taken back.
func (w *work) acceptSteps(ctx context.Context, r *treeRun) error {
	if err := w.markNew(r.op); err != nil {
		return explain("accept", "", err)
	}
	if err := r.do(ctx); err != nil {
		return err
	}
	if err := w.settle(r.op); err != nil {
		return explain("accept", "", err)
	}
	if err := w.keepBases(r.op); err != nil {
		return explain("accept", "", err)
	}
	if err := w.putBases(); err != nil {
		// A record says more than a mark, and a mark more than nothing.
		if err := w.markFiles(); err != nil {
			return explain("accept", "", err)
		}
	}
	crash("settled")
	r.makeDurable()
	err := r.op.SetState(r.last())
	crash("done")
	return err
}

// last is the state of an operation that is done, but for what conclude does.
func (r *treeRun) last() journal.State {
	if r.copied.Load() {
		return journal.Finishing
	}
	return journal.Done
}

// conclude removes what a done operation left beside its places.
func (r *treeRun) conclude() error {
	if r.op.State != journal.Finishing {
		return nil
	}
	if err := r.clearCopied(); err != nil {
		return explainDone(r.op, err)
	}
	return r.op.SetState(journal.Done)
}

func explainDone(op *operation, err error) error {
	return &fault.Error{
		Code: fault.Failed, Op: op.Kind, Err: err, Reason: "it is done, but what it replaced is still beside it",
		Hint: "The next command removes it.",
	}
}

// markNew makes the directories opaque that are about to come to the host.
// The overlay still takes them for its own: a file that is deleted in one
// afterwards leaves no whiteout, and would come back from the host as soon as
// the kernel forgets the name.
func (w *work) markNew(op *operation) error {
	for i := range op.steps {
		s := &op.steps[i]
		if s.Do != doMake || s.Type != entry.Dir || s.Before == "dir" {
			continue
		}
		where, e, err := w.upper.look(string(s.Path))
		if err != nil {
			return err
		}
		if where != present || e.Type != entry.Dir {
			continue
		}
		if err := w.setMark(op, mark{Path: s.Path, Name: "opaque", New: "y"}); err != nil {
			return err
		}
	}
	return nil
}

// unmark takes back the marks of an operation.
func (w *work) unmark(op *operation) {
	for i := len(op.marks) - 1; i >= 0; i-- {
		m := op.marks[i]
		at, err := w.upper.at(string(m.Path))
		if err != nil {
			continue
		}
		if w.upper.attr(at, m.Name) == m.New {
			_ = w.upper.setAttr(at, m.Name, m.Old)
		}
		at.Close()
	}
}

func (w *work) setMark(op *operation, m mark) error {
	at, err := w.upper.at(string(m.Path))
	if err != nil {
		return ignoreMissing(err)
	}
	defer at.Close()
	m.Old = w.upper.attr(at, m.Name)
	if m.Old == m.New {
		return nil
	}
	if err := op.Add(line{Mark: &m}); err != nil {
		return err
	}
	op.marks = append(op.marks, m)
	crash("mark noted")
	err = w.upper.setAttr(at, m.Name, m.New)
	crash("mark")
	return err
}

// settle tells the upper what the host has now: renamed directories need no
// redirect any more, and what was taken is the sandbox's own.
func (w *work) settle(op *operation) error {
	if err := w.dropRedirects(op); err != nil {
		return err
	}
	return w.markAccepted(op)
}

// markAccepted notes on the directories of the upper, and on its files of which
// no record of a base says it, up to when the host's state is the sandbox's own.
func (w *work) markAccepted(op *operation) error {
	dirs := map[string]int64{}
	w.upper.hold(true)
	defer w.upper.hold(false)
	for from := 0; from < len(op.steps); from += manySteps {
		steps := op.steps[from:min(from+manySteps, len(op.steps))]
		found, err := w.markSteps(steps)
		if err != nil {
			return err
		}
		for i := range steps {
			if !found[i].Exists() {
				continue
			}
			path := string(steps[i].Path)
			if w.env.Base != "" {
				w.noteBase(path, found[i], steps[i].After)
			}
			// All the way up: whichever directory the sandbox deletes later, the
			// one above it still knows.
			for dir, more := parent(path), true; more; dir = parent(dir) {
				dirs[dir] = max(dirs[dir], found[i].CtimeNs)
				l, ok := w.env.Tree.LayerOf(dir)
				more = ok && l.Host != dir && dir != "/"
			}
		}
	}
	for dir, ctime := range dirs {
		if where, _, err := w.upper.look(dir); err != nil || where != present {
			continue
		}
		// The whole span: when the sandbox deletes a directory that was taken,
		// only its parent's mark is left to say what wrote the files below.
		if err := w.upper.acceptedSince(dir, min(op.Time.UnixNano(), ctime), ctime); err != nil {
			return err
		}
	}
	return nil
}

// markFiles is for the files that could not be recorded.
func (w *work) markFiles() error {
	for i := range w.rebased {
		b := &w.rebased[i]
		if err := w.upper.accepted(b.path, b.host.CtimeNs); err != nil {
			return err
		}
	}
	return nil
}

// sync drops what the running sandbox has cached of the host's old state.
func (w *work) sync(op *operation) error {
	if !w.env.Running {
		return nil
	}
	v, err := w.env.View()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var paths []string
	for i := range op.steps {
		layer, ok := w.env.Tree.LayerOf(string(op.steps[i].Path))
		if ok && !seen[layer.Host] {
			seen[layer.Host] = true
			paths = append(paths, layer.Host)
		}
	}
	return v.Sync(paths...)
}

// dropRedirects takes the redirect off every directory whose rename the host
// has now, and corrects those that lead into one of them.
func (w *work) dropRedirects(op *operation) error {
	var moves []step
	for i := range op.steps {
		if op.steps[i].Do == doMove {
			moves = append(moves, op.steps[i])
		}
	}
	final := map[string]string{} // old place on the host: new place
	for i, s := range moves {
		if !isPark(string(s.From)) {
			final[string(s.From)] = follow(moves[i+1:], string(s.Path))
		}
	}
	for _, to := range final {
		m := mark{Path: pathText(to), Name: "redirect"}
		if l, ok := w.env.Tree.LayerOf(to); ok && w.upper.covers(to) {
			// Below an opaque directory nothing of the host is seen without one.
			m.New = to[len(strings.TrimSuffix(l.Host, "/")):]
		}
		if err := w.setMark(op, m); err != nil {
			return err
		}
	}
	return w.correctRedirects(op, final)
}
