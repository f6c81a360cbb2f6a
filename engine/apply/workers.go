package apply

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"sandbox/engine/entry"
)

// workers is how many directories are worked in at once.
var workers = min(runtime.NumCPU(), 4)

// do carries out all steps. When one fails the caller takes all of them back.
func (r *treeRun) do(ctx context.Context) error {
	for i := 0; i < len(r.op.steps); {
		next := i
		for next < len(r.op.steps) && r.op.steps[next].alone() && r.op.steps[next].rank == r.op.steps[i].rank {
			next++
		}
		if next > i {
			if err := r.together(ctx, i, next); err != nil {
				return err
			}
			i = next
			continue
		}
		if err := r.one(ctx, i); err != nil {
			return err
		}
		r.root.Forget() // a directory may be another one now
		i++
	}
	return explain(r.op.Kind, "", r.finish())
}

// alone says that no other step depends on this one, but for what comes into a
// directory that it makes.
func (s *step) alone() bool {
	if s.Link != "" {
		return false
	}
	switch s.Do {
	case doMake:
		return s.Before != entry.PrintDir && (s.Type != entry.Dir || s.Before == entry.PrintNone)
	case doRemove, doAttr:
		return s.Before != entry.PrintDir
	}
	return false
}

func (r *treeRun) one(ctx context.Context, i int) error {
	err := ctx.Err()
	if err == nil {
		err = r.step(i)
	}
	return explain(r.op.Kind, string(r.op.steps[i].Path), err)
}

// together does the steps from one to another, directory by directory,
// several at once. Directories are made in between, in their order.
func (r *treeRun) together(ctx context.Context, from, to int) error {
	if workers == 1 || to-from < 2*fewSteps {
		for i := from; i < to; i++ {
			if err := r.one(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}
	type span struct{ from, to int }
	var (
		jobs   = make(chan span, workers)
		failed atomic.Pointer[error]
		all    sync.WaitGroup
	)
	run := func(i int) bool {
		if failed.Load() != nil {
			return false
		}
		if err := r.one(ctx, i); err != nil {
			failed.CompareAndSwap(nil, &err)
			return false
		}
		return true
	}
	for range workers {
		all.Go(func() {
			for job := range jobs {
				for i := job.from; i < job.to && run(i); i++ {
				}
			}
		})
	}
	for i := from; i < to && failed.Load() == nil; {
		if r.op.steps[i].Type == entry.Dir {
			run(i)
			i++
			continue
		}
		next := i + 1
		dir := parent(string(r.op.steps[i].Path))
		for next < to && r.op.steps[next].Type != entry.Dir && parent(string(r.op.steps[next].Path)) == dir {
			next++
		}
		jobs <- span{i, next}
		i = next
	}
	close(jobs)
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// manySteps is how many steps are marked at once.
const manySteps = 4096

// recorded says that the base of what a step made is going to be written down
// with its print: then nobody asks the upper entry for a mark.
func (w *work) recorded(s *step, host entry.Entry) bool {
	path := string(s.Path)
	return w.env.Base != "" && host.Type == entry.File && s.After != "" && !w.unknown[path] && w.sides[path] == nil
}

// markSteps notes on the upper entries of steps up to when the host's state is
// the sandbox's own, and gives what the host has at each.
func (w *work) markSteps(steps []step) ([]entry.Entry, error) {
	found := make([]entry.Entry, len(steps))
	errs := make([]error, workers)
	var all sync.WaitGroup
	share := (len(steps) + workers - 1) / workers
	for n := range workers {
		from, to := min(n*share, len(steps)), min((n+1)*share, len(steps))
		all.Go(func() {
			for i := from; i < to && errs[n] == nil; i++ {
				path := string(steps[i].Path)
				e, err := w.stat(w.host, path)
				if err != nil || !e.Exists() {
					continue
				}
				found[i] = e
				if w.recorded(&steps[i], e) {
					continue
				}
				errs[n] = w.upper.accepted(path, e.CtimeNs)
			}
		})
	}
	all.Wait()
	return found, errors.Join(errs...)
}
