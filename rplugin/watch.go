package rplugin

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// watchEvery is how often the journals of the reviewed sandboxes are looked at.
// It is one stat a sandbox, and no descriptor of a directory that may be
// deleted and made anew is kept.
const watchEvery = 400 * time.Millisecond

// watcher notices what other clients did: every accept, reject and undo leaves
// or takes an entry in the journal directory.
type watcher struct {
	storage string
	changed func(name string)

	mu    sync.Mutex
	seen  map[string]time.Time // by name, the journal's time as known
	quiet map[string]int       // own operations under way
}

func newWatcher(storage string, changed func(name string)) *watcher {
	return &watcher{
		storage: storage,
		changed: changed,
		seen:    map[string]time.Time{},
		quiet:   map[string]int{},
	}
}

func (w *watcher) stamp(name string) time.Time {
	info, err := os.Lstat(filepath.Join(w.storage, name, "journal"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// add starts to watch a sandbox.
func (w *watcher) add(name string) {
	if w.storage == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.seen[name]; !known {
		w.seen[name] = w.stamp(name)
	}
}

// remove ends watching a sandbox.
func (w *watcher) remove(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, name)
}

// own runs an operation of this editor, which it need not be told about.
func (w *watcher) own(name string, operation func() error) error {
	w.mu.Lock()
	w.quiet[name]++
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.quiet[name]--
		if _, known := w.seen[name]; known {
			w.seen[name] = w.stamp(name)
		}
	}()
	return operation()
}

func (w *watcher) look() {
	w.mu.Lock()
	var moved []string
	for name, before := range w.seen {
		if w.quiet[name] > 0 {
			continue
		}
		if now := w.stamp(name); !now.Equal(before) {
			w.seen[name] = now
			moved = append(moved, name)
		}
	}
	w.mu.Unlock()
	for _, name := range moved {
		w.changed(name)
	}
}

func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.look()
		}
	}
}
