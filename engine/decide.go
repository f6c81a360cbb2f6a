package engine

import (
	"context"
	"path/filepath"
	"time"

	"sandbox/engine/apply"
	"sandbox/engine/base"
	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/pattern"
	"sandbox/engine/sensitive"
)

// opWait is how long an operation waits for another one to end.
const opWait = 5 * time.Second

// Accept takes changes over to the host. Changes of level hold are skipped
// unless they are named exactly, decided on one by one, or asked for with
// Sensitive. All conflicts and stale decisions are found before the first
// write.
func (e *Engine) Accept(ctx context.Context, name string, o DecideOptions) (apply.Result, error) {
	return e.decide(ctx, "accept", name, o, apply.Accept)
}

// Reject gives the sandbox the host's version of changes.
func (e *Engine) Reject(ctx context.Context, name string, o DecideOptions) (apply.Result, error) {
	o.Sensitive, o.Git = true, true // giving up a change endangers nobody
	return e.decide(ctx, "reject", name, o, apply.Reject)
}

// Undo takes back one operation: the newest, or the one with this id.
func (e *Engine) Undo(ctx context.Context, name, id string) (apply.Result, error) {
	return e.operate(ctx, "undo", name, func(_ *box, env apply.Env) (apply.Result, error) {
		return apply.Undo(ctx, env, id)
	})
}

type decision func(context.Context, apply.Env, []apply.Selection, apply.Options) (apply.Result, error)

func (e *Engine) decide(ctx context.Context, what, name string, o DecideOptions, do decision) (apply.Result, error) {
	return e.operate(ctx, what, name, func(b *box, env apply.Env) (apply.Result, error) {
		selected, left, err := b.choose(ctx, what, o)
		if err != nil {
			return apply.Result{}, err
		}
		if err := b.still(ctx, what, selected); err != nil {
			return apply.Result{}, err
		}
		selected, more, err := expand(what, selected, o.SkipConflicts)
		if err != nil {
			return apply.Result{}, err
		}
		left.Skipped = append(left.Skipped, more...)
		if len(selected) == 0 {
			return left, nil
		}
		opts := apply.Options{Special: o.Special, SkipConflicts: o.SkipConflicts, Before: o.Before}
		if what == "reject" {
			if opts.Contested, err = b.contested(ctx, selected); err != nil {
				return apply.Result{}, err
			}
		}
		r, err := do(ctx, env, selected, opts)
		r.Skipped = append(left.Skipped, r.Skipped...)
		r.Ignored, r.WhyIgnored = left.Ignored, left.WhyIgnored
		return r, err
	})
}

// operate runs one operation under the sandbox's lock and shows a running
// sandbox what it did on the host.
func (e *Engine) operate(ctx context.Context, what, name string, do func(*box, apply.Env) (apply.Result, error)) (r apply.Result, err error) {
	b, err := e.open(name)
	if err != nil {
		return r, err
	}
	lock, err := b.dir.OpLock(what, opWait)
	if err != nil {
		return r, err
	}
	defer lock.Close()
	if err := e.recover(ctx, b); err != nil {
		return r, err
	}
	running := e.running(name)
	s := e.session(name)
	defer func() {
		if cerr := s.close(ctx); err == nil {
			err = cerr
		}
		if !running {
			b.prune(ctx)
		}
	}()
	b.bases()
	r, err = do(b, apply.Env{Tree: b.tree, Journal: b.journal(), Base: b.dir.Path(base.Dir), Barrier: b.barrier, View: s.open, Hold: b.holdDown, Running: running})
	if running && len(r.Done) > 0 {
		// What programs inside looked up before is forgotten. The operation is
		// done; a sandbox that just ended needs nothing.
		if v, verr := s.open(); verr == nil {
			_ = v.Sync(places(r.Done)...)
		}
	}
	return r, err
}

// places gives the directories that an operation wrote in, each once: only the
// overlays that hold them forget what they had cached, which costs a running
// program little.
func places(done []apply.Row) []string {
	seen := map[string]bool{}
	var out []string
	for _, row := range done {
		if dir := filepath.Dir(row.Path); !seen[dir] {
			seen[dir] = true
			out = append(out, dir)
		}
	}
	return out
}

// choose turns the wishes into selections. The result that it gives tells what
// was left alone.
func (b *box) choose(ctx context.Context, what string, o DecideOptions) ([]apply.Selection, apply.Result, error) {
	var left apply.Result
	if o.Decisions != nil {
		selected, err := b.decided(ctx, what, o.Decisions)
		return selected, left, err
	}
	found, m, err := b.query(ctx, o.Query)
	if err != nil {
		return nil, left, err
	}
	left.Ignored, left.WhyIgnored = found.Ignored, found.WhyIgnored()
	var list []*changes.Change
	var held []changes.Change
	for i := range found.Matching {
		c := &found.Matching[i]
		if c.Inside != "" {
			return nil, left, partOfGit(what, c.Path, c.Inside)
		}
		if c.Git != nil && !c.Git.New && !o.Git && !m.names(c) {
			held = append(held, *c)
			left.Skipped = append(left.Skipped, apply.Skip{Path: c.Path, Reason: "left out: " + c.Git.Summary + "; name it exactly, or use --git"})
			continue
		}
		if c.Sensitive != nil && c.Sensitive.Level == sensitive.LevelHold && !o.Sensitive && !m.names(c) {
			held = append(held, *c)
			left.Skipped = append(left.Skipped, apply.Skip{Path: c.Path, Reason: "held back: " + c.Sensitive.Reason + "; name it exactly, or use --sensitive"})
			continue
		}
		list = append(list, c)
	}
	selected := make([]apply.Selection, 0, len(list))
	for _, c := range list {
		if h := takesAlong(*c, held); h != "" {
			left.Skipped = append(left.Skipped, apply.Skip{Path: c.Path, Reason: "held back: it would take " + h + " along"})
			continue
		}
		selected = append(selected, apply.Selection{Change: *c})
	}
	return selected, left, nil
}

// takesAlong gives the first held path that doing c as a whole would do too:
// a directory that is deleted, moved or replaced takes all that is in it.
func takesAlong(c changes.Change, held []changes.Change) string {
	if c.Host.Type != entry.Dir || (c.Kind != changes.Deleted && c.Kind != changes.Renamed && c.Kind != changes.TypeChanged) {
		return ""
	}
	for _, h := range held {
		if pattern.Below(h.Path, c.Path) || (c.From != "" && pattern.Below(hostPath(h), c.From)) {
			return h.Path
		}
	}
	return ""
}

// manyDecisions is the number from which one scan is cheaper than looking up
// each path.
const manyDecisions = 16

// decided looks up decisions that were made one by one.
func (b *box) decided(ctx context.Context, what string, list []Decision) ([]apply.Selection, error) {
	find := func(path string) (changes.Change, error) {
		c, inside, err := b.repository(ctx, path)
		switch {
		case err != nil:
			return changes.Change{}, err
		case c != nil:
			return *c, nil
		case inside != "":
			return changes.Change{}, partOfGit(what, path, inside)
		}
		return changes.One(ctx, b.tree, path, scanOptions())
	}
	if len(list) >= manyDecisions {
		set, err := changes.Scan(ctx, b.tree, scanOptions())
		if err != nil {
			return nil, err
		}
		apply.Settle(b.journal(), set.Changes)
		if err := b.group(set, nil); err != nil {
			return nil, err
		}
		rows := make(map[string]changes.Change, len(set.Changes))
		for _, c := range set.Changes {
			if c.Kind == changes.Renamed {
				rows[c.From] = c
			}
		}
		for _, c := range set.Changes {
			rows[c.Path] = c
		}
		find = func(path string) (changes.Change, error) {
			if c, ok := rows[path]; ok {
				return c, nil
			}
			return changes.Change{}, fault.New(fault.NoMatch, what, path, "it is not changed in the sandbox", "")
		}
	}
	var selected []apply.Selection
	for _, d := range list {
		c, err := find(d.Path)
		if err == nil && c.Git != nil {
			if err := boundToGit(what, &c, d); err != nil {
				return nil, err
			}
			d.Host, d.Sandbox, d.Hunks = "", "", nil
		}
		if fault.CodeOf(err) == fault.NoMatch && (d.Host != "" || d.Sandbox != "" || d.Hunks != nil) {
			return nil, fault.New(fault.Stale, what, d.Path, "it is not changed any more", "Look at it again; nothing was written.")
		}
		if err != nil {
			return nil, err
		}
		one := []changes.Change{c}
		b.refine(one)
		selected = append(selected, apply.Selection{Change: one[0], Hunks: d.Hunks, Host: d.Host, Sandbox: d.Sandbox})
	}
	return selected, nil
}
