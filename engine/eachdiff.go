package engine

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/entry"
)

// EachDiff compares all changes that a query means, in order, after one scan.
// Changes that are gone by the time they are compared are left out. The
// answer is what Changes gives.
func (e *Engine) EachDiff(ctx context.Context, name string, q Query, do func(FileDiff) error) (Changes, error) {
	return e.MapDiffs(ctx, name, q, func(d FileDiff) (func() error, error) {
		return func() error { return do(d) }, nil
	})
}

// MapDiffs is EachDiff for who has much to do with each comparison: work is
// called by several goroutines, and what it returns by one, in order. A query
// that names single files by their paths is answered without a scan; then the
// answer does not count what it left out.
func (e *Engine) MapDiffs(ctx context.Context, name string, q Query, work func(FileDiff) (func() error, error)) (Changes, error) {
	b, err := e.openRecovered(ctx, name)
	if err != nil {
		return Changes{}, err
	}
	found, ok := b.single(ctx, q)
	if !ok {
		if found, _, err = b.query(ctx, q); err != nil {
			return Changes{}, err
		}
	}
	return found, b.mapDiffs(ctx, found.Matching, work)
}

const (
	diffWorkers = 2
	// diffRun and diffBytes bound the changes that a worker takes at once.
	diffRun   = 32
	diffBytes = 8 << 20
)

// run is a few changes that follow each other, and where its results go.
type run struct {
	list []changes.Change
	done chan outcome
}

type outcome struct {
	finish []func() error
	err    error // what ended the run behind finish
}

func (b *box) mapDiffs(ctx context.Context, list []changes.Change, work func(FileDiff) (func() error, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := make(chan run)
	order := make(chan run, diffWorkers) // bounds what is compared and not yet used
	for range diffWorkers {
		go func() {
			for r := range todo {
				r.done <- b.compareRun(ctx, r.list, work)
			}
		}()
	}
	go func() {
		defer close(order)
		defer close(todo)
		for len(list) > 0 {
			r := run{list: list[:runLength(list)], done: make(chan outcome, 1)}
			list = list[len(r.list):]
			select {
			case order <- r:
			case <-ctx.Done():
				return
			}
			todo <- r
		}
	}()
	for r := range order {
		o := <-r.done
		for _, finish := range o.finish {
			if err := finish(); err != nil {
				o.err = err
				break
			}
		}
		if o.err != nil {
			cancel()
			for r := range order {
				<-r.done
			}
			return o.err
		}
	}
	return ctx.Err()
}

// runLength is the number of changes in the next run: one that is large is alone.
func runLength(list []changes.Change) int {
	size := int64(0)
	for i := range min(len(list), diffRun) {
		if size += list[i].Host.Size + list[i].Sandbox.Size; size > diffBytes {
			return max(i, 1)
		}
	}
	return min(len(list), diffRun)
}

func (b *box) compareRun(ctx context.Context, list []changes.Change, work func(FileDiff) (func() error, error)) (o outcome) {
	for i := range list {
		if o.err = ctx.Err(); o.err != nil {
			return o
		}
		d, err := b.compare(list[i])
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		var finish func() error
		if err == nil {
			finish, err = work(d)
		}
		if err != nil {
			o.err = err
			return o
		}
		o.finish = append(o.finish, finish)
	}
	return o
}

// single answers a query whose patterns are the paths of files that changed.
// It is not ok for anything else, and where only a scan can tell.
func (b *box) single(ctx context.Context, q Query) (Changes, bool) {
	const most = 16
	if q.All || q.Counts || len(q.Patterns) == 0 || len(q.Patterns) > most || !filepath.IsAbs(q.Dir) {
		return Changes{}, false
	}
	m, err := compile(q, &changes.Set{})
	if err != nil {
		return Changes{}, false
	}
	b.bases()
	var found Changes
	for i, text := range q.Patterns {
		abs := text
		if !filepath.IsAbs(abs) {
			abs = filepath.Join(q.Dir, abs)
		}
		abs = filepath.Join(resolve(filepath.Dir(abs)), filepath.Base(abs))
		if strings.ContainsAny(text, "*?[]{}\\!") || strings.HasSuffix(text, "/") || !m.patterns[i].Names(abs) {
			return Changes{}, false
		}
		if c, _, err := b.repository(ctx, abs); err != nil || c != nil {
			return Changes{}, false
		}
		c, err := changes.One(ctx, b.tree, abs, scanOptions())
		if err != nil || c.Path != abs || c.Host.Type == entry.Dir || c.Sandbox.Type == entry.Dir {
			return Changes{}, false
		}
		found.Matching = append(found.Matching, c)
	}
	if !increasing(found.Matching) {
		return Changes{}, false
	}
	apply.Settle(b.journal(), found.Matching)
	b.refine(found.Matching)
	return found, true
}

// increasing reports whether rows come in order and none twice.
func increasing(list []changes.Change) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1].Path >= list[i].Path {
			return false
		}
	}
	return true
}
