package keeper

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/engine/changes"
	"sandbox/internal/overlaytest"
)

// watched is an overlay whose upper tree is watched by this process, as a
// keeper of its own would do it.
type watched struct {
	*overlaytest.Rig
	t    *testing.T
	dir  string // of bases
	ends int    // closing it is init's end
	done chan struct{}
	k    *keeping
	// since is when the run began.
	since int64
}

func newWatched(t *testing.T, fill func(host string)) *watched {
	t.Helper()
	w := &watched{Rig: overlaytest.New(t, fill), t: t}
	w.dir = filepath.Join(w.Storage, base.Dir)
	t.Cleanup(w.stop)
	tick() // what is there was there long before
	w.since = time.Now().UnixNano()
	return w
}

// start begins to watch. The run began now.
func (w *watched) start() { w.prepare(); w.serve() }

func (w *watched) prepare() {
	w.t.Helper()
	var fds [2]int
	must(w.t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
	k, err := newKeeping(w.Tree(), w.dir, fds[0], w.since)
	must(w.t, err)
	w.k, w.ends = k, fds[1]
}

func (w *watched) serve() {
	w.done = make(chan struct{})
	go func() {
		defer close(w.done)
		for !w.k.ended() {
		}
	}()
}

// stop ends the watch as a keeper ends when init has.
func (w *watched) stop() {
	if w.k == nil {
		return
	}
	w.halt()
	w.k.close()
	w.k = nil
}

// kill ends it in the middle: what is in the queue is lost.
func (w *watched) kill() {
	w.halt()
	w.k.watcher.close()
	w.k.capture.w.Close()
	w.k = nil
}

func (w *watched) halt() {
	must(w.t, unix.Close(w.ends))
	<-w.done
	must(w.t, unix.Close(w.k.init))
}

// barrier waits until all is written down.
func (w *watched) barrier() {
	w.t.Helper()
	if !base.Barrier(w.dir, 10*time.Second) {
		w.t.Fatal("the keeper does not answer")
	}
}

func (w *watched) bases() *base.Set {
	w.t.Helper()
	set, err := base.Load(w.dir)
	must(w.t, err)
	return set
}

// base is the content that was captured of a name in the host directory.
func (w *watched) base(name string) string {
	w.t.Helper()
	set := w.bases()
	r, ok := set.Get(w.H(name))
	if !ok {
		return "no record"
	}
	data, ok := set.Content(r)
	if !ok {
		return "no content"
	}
	return string(data)
}

// changes are the rows of a scan that knows the bases, by name.
func (w *watched) changes() map[string]changes.Change {
	w.t.Helper()
	tree := w.Tree()
	tree.Base = w.bases()
	set, err := changes.Scan(w.t.Context(), tree, changes.Options{NoRenames: true})
	must(w.t, err)
	out := map[string]changes.Change{}
	for _, c := range set.Changes {
		name, err := filepath.Rel(w.Host, c.Path)
		must(w.t, err)
		out[name] = c
	}
	return out
}

// want checks what a scan says of a name: its base, "!" behind it for a
// conflict, or "" when it must not be listed.
func (w *watched) want(name, want string) {
	w.t.Helper()
	c, ok := w.changes()[name]
	got := c.Base
	if c.Conflict {
		got += "!"
	}
	if !ok {
		got = ""
	}
	if got != want {
		w.t.Errorf("%s: %q, want %q (%s, host %+v)", name, got, want, c.Kind, c.Host)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o644)) //nolint:gosec // a file like others
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
