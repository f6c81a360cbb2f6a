package apply_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"sandbox/engine/apply"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// meddler is somebody who does something at the n-th moment at which an
// operation asks whether it shall go on: once for each path while it plans,
// then once before each step.
type meddler struct {
	context.Context
	n  *int
	do func()
}

func (m meddler) Err() error {
	if *m.n--; *m.n == 0 {
		m.do()
	}
	return nil
}

func at(n int, do func()) context.Context { return meddler{context.Background(), &n, do} }

// What changes after the plan and before its own step is found out then, and
// what was done before it is taken back.
func TestSomebodyWritesMeanwhile(t *testing.T) {
	const host = "echo one > f1; echo one > f2; mkdir d; echo x > d/x; echo gone > gone"
	const box = "echo two > f1; echo two > f2; rm -r d; rm gone; echo new > new"
	edits := map[string]func(r *rig){
		"the host's file":                    func(r *rig) { put(r.H("f2"), "edited") },
		"the host's file, saved anew":        func(r *rig) { put(r.H("s"), "edited"); _ = os.Rename(r.H("s"), r.H("f2")) },
		"the sandbox's file":                 func(r *rig) { put(r.M("f2"), "edited") },
		"a directory for the sandbox's file": func(r *rig) { _ = os.Remove(r.M("f2")); _ = os.Mkdir(r.M("f2"), 0o755) },
		"a link for the sandbox's file":      func(r *rig) { _ = os.Remove(r.M("f2")); _ = os.Symlink("f1", r.M("f2")) },
		"nothing for the sandbox's file":     func(r *rig) { _ = os.Remove(r.M("f2")) },
		"a file in a tree that goes":         func(r *rig) { put(r.H("d/x"), "edited") },
		"a new file in such a tree":          func(r *rig) { put(r.H("d/y"), "edited") },
		"a file that goes":                   func(r *rig) { put(r.H("gone"), "edited") },
		"the name of a new file":             func(r *rig) { put(r.H("new"), "edited") },
		"a link for a file":                  func(r *rig) { _ = os.Remove(r.H("f2")); _ = os.Symlink("f1", r.H("f2")) },
		"nothing for a file":                 func(r *rig) { _ = os.Remove(r.H("f2")) },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			story(t, host, func(t *testing.T, r *rig) {
				r.Sh(t, box)
				sel := r.scan(t)
				for i := range sel { // bound to what was seen
					if c := sel[i].Change; c.Sandbox.Type == entry.File {
						sel[i].Sandbox = entry.PrintBytes([]byte(read(t, c.Upper)))
					}
				}
				var edited string
				ctx := at(len(sel)+1, func() { edit(r); edited = r.host(t) })
				res, err := apply.Accept(ctx, r.env, sel, apply.Options{})
				if fault.CodeOf(err) != fault.Stale {
					t.Errorf("%+v %v", res, err)
				}
				equal(t, "the host", r.host(t), edited)
				if left, _ := filepath.Glob(r.env.Journal + "/0*"); len(left) > 0 {
					t.Errorf("left in the journal: %v", left)
				}
			})
		})
	}
}

func TestSomebodyWritesMeanwhileRejected(t *testing.T) {
	const host = "echo one > f1; echo one > f2; mkdir d; echo x > d/x"
	const box = "echo two > f1; echo two > f2; rm -r d; mkdir n; echo new > n/f"
	edits := map[string]func(r *rig){
		"the host's file":                    func(r *rig) { put(r.H("f2"), "edited") },
		"the sandbox's file":                 func(r *rig) { put(r.M("f2"), "edited") },
		"a directory for the sandbox's file": func(r *rig) { _ = os.Remove(r.M("f2")); _ = os.Mkdir(r.M("f2"), 0o755) },
		"a link for the sandbox's file":      func(r *rig) { _ = os.Remove(r.M("f2")); _ = os.Symlink("f1", r.M("f2")) },
		"nothing for the sandbox's file":     func(r *rig) { _ = os.Remove(r.M("f2")) },
		"a file that goes":                   func(r *rig) { put(r.M("n/f"), "edited") },
		"a file in what goes":                func(r *rig) { put(r.M("n/g"), "edited") },
		"a tree that is there":               func(r *rig) { _ = os.Mkdir(r.M("d"), 0o755); put(r.M("d/own"), "edited") },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			story(t, host, func(t *testing.T, r *rig) {
				r.Sh(t, box)
				sel := r.scan(t)
				var edited string
				ctx := at(len(sel)+1, func() { edit(r); edited = r.box(t) })
				res, err := apply.Reject(ctx, r.env, sel, apply.Options{})
				if fault.CodeOf(err) != fault.Stale {
					t.Errorf("%+v %v", res, err)
				}
				equal(t, "the sandbox", r.box(t), edited)
			})
		})
	}
}

// An operation that is called off leaves nothing behind.
func TestCalledOff(t *testing.T) {
	story(t, "echo one > f1; echo one > f2", func(t *testing.T, r *rig) {
		r.Sh(t, "echo two > f1; echo two > f2")
		before, seen := r.host(t), r.box(t)
		for n := range 4 {
			ctx, cancel := context.WithCancel(context.Background())
			count := n + 1
			m := meddler{ctx, &count, cancel}
			if _, err := apply.Accept(both{m, ctx}, r.env, r.scan(t), apply.Options{}); err == nil {
				t.Errorf("%d: accept went on", n)
			}
			equal(t, "the host", r.host(t), before)
		}
		for n := range 4 {
			ctx, cancel := context.WithCancel(context.Background())
			count := n + 1
			m := meddler{ctx, &count, cancel}
			if _, err := apply.Reject(both{m, ctx}, r.env, r.scan(t), apply.Options{}); err == nil {
				t.Errorf("%d: reject went on", n)
			}
			equal(t, "the sandbox", r.box(t), seen)
		}
	})
}

// both asks the meddler, and answers what the real context says.
type both struct {
	meddler
	real context.Context //nolint:containedctx // a context made of two
}

func (b both) Err() error {
	_ = b.meddler.Err()
	return b.real.Err()
}

func put(path, data string) { _ = os.WriteFile(path, []byte(data), 0o600) }
