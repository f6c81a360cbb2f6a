package rplugin

import (
	"context"
	"slices"

	"sandbox/engine"
	"sandbox/engine/apply"
	"sandbox/engine/fault"
)

// decideFunc is Accept or Reject of the engine.
type decideFunc func(context.Context, string, engine.DecideOptions) (apply.Result, error)

func (h *host) accept(ctx context.Context, r request) (any, error) {
	return h.decide(ctx, r, h.engine.Accept)
}

func (h *host) reject(ctx context.Context, r request) (any, error) {
	return h.decide(ctx, r, h.engine.Reject)
}

// decide carries out {name, decisions, show} or {name, all = true, seq, show}
// and answers what was done together with the new state.
func (h *host) decide(ctx context.Context, r request, do decideFunc) (any, error) {
	name, err := r.need("name")
	if err != nil {
		return nil, err
	}
	// A decision under way is not given up because the editor leaves.
	ctx = context.WithoutCancel(ctx)
	var answer table
	err = h.watch.own(name, func() error {
		options := engine.DecideOptions{}
		left := []any{}
		if r.flag("all") {
			seq, _ := toInt(r["seq"])
			options.SkipConflicts = true
			options.Decisions, left, err = h.everything(ctx, name, seq)
		} else {
			// A path that was picked by hand is named exactly.
			options.Sensitive = true
			if options.Decisions, err = r.decisions(); err == nil {
				err = h.bind(ctx, name, options.Decisions)
			}
		}
		if err != nil {
			return err
		}
		var result apply.Result
		if len(options.Decisions) > 0 {
			if result, err = do(ctx, name, options); err != nil {
				return err
			}
		}
		if result.ID != "" {
			h.reviews.with(name, func(v *review) { v.operations = append(v.operations, result.ID) })
		}
		if answer, err = h.after(ctx, name, r.text("show"), written(result)); err != nil {
			return err
		}
		report := resultTable(result)
		report["skipped"] = append(report["skipped"].([]any), left...)
		answer["result"] = report
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// undo takes back the newest operation of this editor: {name, show}. What
// another client did is never touched.
func (h *host) undo(ctx context.Context, r request) (any, error) {
	name, err := r.need("name")
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	var id string
	h.reviews.with(name, func(v *review) {
		if n := len(v.operations); n > 0 {
			id = v.operations[n-1]
		}
	})
	if id == "" {
		return nil, fault.New(fault.NothingUndo, "undo", name, "no decision of this editor is left", "")
	}
	var answer table
	err = h.watch.own(name, func() error {
		result, err := h.engine.Undo(ctx, name, id)
		if err != nil {
			if code := fault.CodeOf(err); code == fault.NothingUndo || code == fault.NoMatch {
				h.forget(name, id) // another client took it back already
			}
			return err
		}
		h.forget(name, id)
		if answer, err = h.after(ctx, name, r.text("show"), written(result)); err != nil {
			return err
		}
		answer["result"] = resultTable(result)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// written is what an operation wrote; never nil, which would mean anything.
func written(result apply.Result) []apply.Row {
	return append([]apply.Row{}, result.Done...)
}

func (h *host) forget(name, id string) {
	h.reviews.with(name, func(v *review) {
		v.operations = slices.DeleteFunc(v.operations, func(s string) bool { return s == id })
	})
}

// toInt reads a number as the client library decodes it.
func toInt(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case uint64:
		return int64(n), true //nolint:gosec // a list number, far below the limit
	}
	return 0, false
}
