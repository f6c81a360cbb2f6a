package apply_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/apply"
	"sandbox/engine/fault"
	"sandbox/engine/view"
)

var errNoView = errors.New("the sandbox is down")

// stopped runs do while nothing is mounted; do has no view then.
func (r *rig) stopped(t *testing.T, do func()) {
	t.Helper()
	r.Unmount()
	old := r.env
	r.env.Running = false
	r.env.Hold = func() (func(), bool) { return func() {}, true }
	r.env.View = func() (view.View, error) { return nil, errNoView }
	defer func() {
		r.env = old
		r.Mount(t)
		r.attach()
	}()
	do()
}

// A reject of everything in a sandbox that is down gives what one through the
// view gives, takes nothing but renames, and an undo brings all of it back.
func TestRejectDown(t *testing.T) {
	story(t, everyKind+"\nmkdir -p other/in; echo o > other/in/f; echo p > other/in/g", func(t *testing.T, r *rig) {
		t.Cleanup(func() { _ = os.Chmod(r.H("ro"), 0o700) }) //nolint:gosec // so that it can be removed
		r.Sh(t, strings.Replace(everyChange, "$ROOT", "", 1)+"\nrm -r other/in; mkdir other/in; echo mine > other/in/h; echo o > other/in/f; ln new/n new/hard; mv keep/late keep/renamed")
		must(t, unix.Setxattr(r.M("swap1/a"), "user.own", []byte("box"), 0))
		host, seen, rows := full(t, r.Host), full(t, r.M("")), r.rows(t)
		for range 2 {
			r.stopped(t, func() {
				res, err := r.reject(r.scan(t))
				must(t, err)
				if len(res.Skipped) > 0 || res.ID == "" {
					t.Errorf("%+v", res)
				}
			})
			equal(t, "the sandbox after the reject", full(t, r.M("")), host)
			equal(t, "the rows after the reject", r.rows(t), "")
			r.down(t) // what is equal to the host goes
			r.stopped(t, func() {
				_, err := r.undo()
				must(t, err)
			})
			equal(t, "the sandbox after the undo", full(t, r.M("")), seen)
			equal(t, "the rows", r.rows(t), rows)
			equal(t, "the host", full(t, r.Host), host)
		}
	})
}

// What came since, beside what went, stays, and what took its place is not overwritten.
func TestUndoRejectDownAfterMore(t *testing.T) {
	story(t, "mkdir -p a/b c; echo 1 > a/b/f; echo 1 > c/f; echo k > c/keep", func(t *testing.T, r *rig) {
		r.Sh(t, "echo 2 > a/b/f; echo new > a/b/new; rm c/f; mkdir n; echo x > n/x")
		r.stopped(t, func() { _, err := r.reject(r.scan(t)); must(t, err) })
		r.Sh(t, "echo beside > a/b/beside; mkdir n; echo y > n/y; rm c/keep")
		r.stopped(t, func() { _, err := r.undo(); must(t, err) })
		rows := "modified a/b/f\nadded a/b/new\nadded a/b/beside\ndeleted c/f\nadded n\nadded n/x\nadded n/y\ndeleted c/keep\n"
		got := r.rows(t)
		for line := range strings.Lines(rows) {
			if !strings.Contains(got, line) {
				t.Errorf("missing %s", line)
			}
		}
		r.stopped(t, func() { _, err := r.reject(r.scan(t)); must(t, err) })
		r.Sh(t, "echo mine > a/b/f; echo z > n")
		before := full(t, r.M(""))
		r.stopped(t, func() {
			if _, err := r.undo(); fault.CodeOf(err) != fault.Stale {
				t.Errorf("undo over what came since: %v", err)
			}
		})
		equal(t, "the sandbox", full(t, r.M("")), before)
	})
}

// In a sandbox that came up since, an undo goes through the view.
func TestUndoRejectDownWhileUp(t *testing.T) {
	story(t, everyKind, func(t *testing.T, r *rig) {
		t.Cleanup(func() { _ = os.Chmod(r.H("ro"), 0o700) }) //nolint:gosec // so that it can be removed
		r.Sh(t, strings.NewReplacer("$ROOT", "").Replace(everyChange)+"\nrm -r swap1; mkdir swap1; echo o > swap1/own")
		host, seen, rows := full(t, r.Host), full(t, r.M("")), r.rows(t)
		r.stopped(t, func() { _, err := r.reject(r.scan(t)); must(t, err) })
		equal(t, "the sandbox after the reject", full(t, r.M("")), host)
		_, err := r.undo()
		must(t, err)
		equal(t, "the sandbox after the undo", full(t, r.M("")), seen)
		equal(t, "the rows", r.rows(t), rows)
	})
}

// What cannot be done by taking entries away goes through the view, wholly.
func TestRejectDownNeedsTheView(t *testing.T) {
	story(t, "mkdir -p d/e; echo 1 > d/f; echo 2 > d/e/f; mkdir m", func(t *testing.T, r *rig) {
		r.Sh(t, "rm -r d; mkdir d; echo mine > d/f; mkdir n; echo a > n/a; chmod 700 m; echo b > m/b")
		box := full(t, r.M(""))
		for _, names := range [][]string{{"d/f"}, {"d/e/f"}, {"n/a", "m"}} {
			r.stopped(t, func() {
				sel := r.scan(t, names...)
				if names[0] == "n/a" {
					sel = sel[:len(sel)-1] // without m/b
				}
				if _, err := r.reject(sel); err == nil && names[0] != "n/a" {
					t.Errorf("%v: done without a view", names)
				}
			})
			if names[0] != "n/a" {
				equal(t, "the sandbox", full(t, r.M("")), box)
			}
		}
	})
}

// A decision is checked on the content that it named, and else on what the scan saw.
func TestRejectDownIsStale(t *testing.T) {
	story(t, "echo 1 > f; echo 1 > g", func(t *testing.T, r *rig) {
		r.Sh(t, "echo 2 > f; echo 2 > g; echo 2 > n")
		for name, edit := range map[string]func() string{
			"the host's":    func() string { return r.H("g") },
			"the sandbox's": func() string { return r.U("n") },
		} {
			sel := r.scan(t)
			put(edit(), "written "+name)
			r.stopped(t, func() {
				before := full(t, r.U(""))
				if res, err := r.reject(sel); fault.CodeOf(err) != fault.Stale {
					t.Errorf("%s: %+v %v", name, res, err)
				}
				equal(t, "the upper", full(t, r.U("")), before)
			})
		}
		sel := r.scan(t)
		sel[0].Sandbox = "sha256:00"
		r.stopped(t, func() {
			if _, err := r.reject(sel); fault.CodeOf(err) != fault.Stale {
				t.Errorf("another print: %v", err)
			}
		})
	})
}

func TestRejectDownKilledAnywhere(t *testing.T) {
	story(t, everyKind+"\nmkdir -p p/q; echo 1 > p/q/1; echo 2 > p/q/2", func(t *testing.T, r *rig) {
		t.Cleanup(func() { _ = os.Chmod(r.H("ro"), 0o700) }) //nolint:gosec // so that it can be removed
		// What stays in p keeps its directory from going as a whole.
		r.Sh(t, strings.NewReplacer("$ROOT", "").Replace(everyChange)+"\necho one > p/q/1; echo two > p/q/2; echo stays > p/q/stays; mkdir p/n; echo x > p/n/x")
		all := r.rows(t)
		host, upper := full(t, r.Host), full(t, r.U(""))
		some := func() (sel []apply.Selection) {
			for _, s := range r.scan(t) {
				if !strings.HasSuffix(s.Change.Path, "/stays") {
					sel = append(sel, s)
				}
			}
			return sel
		}
		r.stopped(t, func() {
			kills(t, 1, func(n int) string {
				point := killAfter(n, func() { _, err := r.reject(some()); must(t, err) })
				r.recovered(t)
				if point == "" || point == "done" {
					equal(t, "the rows after the reject", r.rows(t), "added p/q/stays\n")
					// What is equal to the host goes, and comes back below what stays.
					must(t, apply.Prune(context.Background(), r.env))
					undone := killAfter(n, func() { _, err := r.undo(); must(t, err) })
					r.recovered(t)
					if undone != "" && r.rows(t) != all {
						_, err := r.undo()
						must(t, err)
					}
				}
				equal(t, "the rows", r.rows(t), all)
				equal(t, "the upper", full(t, r.U("")), upper)
				equal(t, "the host", full(t, r.Host), host)
				return point
			})
			for n := 1; ; n++ {
				_, err := r.reject(some())
				must(t, err)
				point := killAfter(n, func() { _, err := r.undo(); must(t, err) })
				r.recovered(t)
				if r.rows(t) != all {
					_, err := r.undo()
					must(t, err)
				}
				equal(t, "the upper after an undo that was killed", full(t, r.U("")), upper)
				if point == "" || t.Failed() {
					return
				}
			}
		})
	})
}

// A directory in which all is rejected is not taken out of one that the user may
// not write, as the upper's /home is: what lies in it goes one by one.
func TestRejectDownInADirectoryOfSomebodyElse(t *testing.T) {
	story(t, "mkdir -p home/me; echo 1 > home/me/f", func(t *testing.T, r *rig) {
		r.Sh(t, "echo 2 > home/me/f; echo n > home/me/n; mkdir home/me/d; echo x > home/me/d/x")
		sel := r.scan(t)
		shut := r.Storage + "/upper/home"
		must(t, os.Chmod(shut, 0o555))                  //nolint:gosec // what an overlay makes of it
		t.Cleanup(func() { _ = os.Chmod(shut, 0o755) }) //nolint:gosec // so that it can be removed
		r.stopped(t, func() { _, err := r.reject(sel); must(t, err) })
		must(t, os.Chmod(shut, 0o755)) //nolint:gosec // as the host's
		equal(t, "the rows", r.rows(t), "")
	})
}

// A directory that its owner may not write, as /home is in a sandbox of an
// ordinary user, stays, and what is in the directories below it goes.
func TestRejectDownBelowShutDirectory(t *testing.T) {
	story(t, "mkdir -p home/me/p home/other; echo 1 > home/me/p/f; chmod 555 home", func(t *testing.T, r *rig) {
		t.Cleanup(func() { _ = os.Chmod(r.H("home"), 0o700) }) //nolint:gosec // so that it can be removed
		r.Sh(t, "echo 2 > home/me/p/f; echo 3 > home/me/p/g; rm home/me/p/f; mkdir home/me/d; echo 4 > home/me/d/f; echo 5 > home/other/f")
		host, seen, rows := full(t, r.Host), full(t, r.M("")), r.rows(t)
		r.stopped(t, func() { _, err := r.reject(r.scan(t)); must(t, err) })
		equal(t, "the sandbox after the reject", full(t, r.M("")), host)
		r.Sh(t, "echo 6 > home/me/p/h")
		r.stopped(t, func() { _, err := r.undo(); must(t, err) })
		r.Sh(t, "rm home/me/p/h")
		equal(t, "the sandbox after the undo", full(t, r.M("")), seen)
		equal(t, "the rows", r.rows(t), rows)
	})
}
