package apply_test

import (
	"context"
	"os"
	"testing"

	"sandbox/engine/apply"
)

// down prunes while nothing is mounted and mounts again.
func (r *rig) down(t *testing.T) {
	t.Helper()
	r.Unmount()
	env := r.env
	env.Running = false
	must(t, apply.Prune(context.Background(), env))
	r.Mount(t)
	r.attach()
}

func TestPruneChangesNothingThatIsSeen(t *testing.T) {
	story(t, someDirs, func(t *testing.T, r *rig) {
		r.Sh(t, `echo same >> a/f1; mkdir -p n/m; echo 1 > n/m/f; rm -r c; rm b/f1; ln -sfn e a/link; chmod 700 e
			rm -r a/sub; mkdir a/sub; echo new > a/sub/f1; mkdir keep; echo k > keep/k; echo l > keep/l; chmod 600 b/f2; chmod 644 b/f2; echo x >> b/f3`)
		_, err := r.accept(r.scan(t))
		must(t, err)
		r.Sh(t, "rm keep/l; echo own > b/own; rm b/f3; echo more > n/m/more")
		seen, host, rows := r.box(t), r.host(t), r.rows(t)
		r.down(t)
		equal(t, "the sandbox", r.box(t), seen)
		equal(t, "the host", r.host(t), host)
		if got := r.rows(t); got != rows {
			t.Errorf("rows:\n%s\nbefore:\n%s", got, rows)
		}
		for _, name := range []string{"a", "c", "e", "b/f1", "b/f2", "a/sub"} {
			if _, err := os.Lstat(r.U(name)); err == nil {
				t.Errorf("%s stays in the upper", name)
			}
		}
		// Edits on the host are seen inside again.
		r.ShHost(t, "echo edited > a/f1; echo edited > a/sub/f1")
		must(t, r.Sync())
		if read(t, r.M("a/f1")) != "edited\n" || read(t, r.M("a/sub/f1")) != "edited\n" {
			t.Error("an edit on the host is hidden")
		}
	})
}

// What was accepted, and forgotten by the upper, is the sandbox's change again
// after an undo: nothing is lost.
func TestUndoAfterPrune(t *testing.T) {
	story(t, someDirs, func(t *testing.T, r *rig) {
		before := r.host(t)
		r.Sh(t, "echo edit >> a/f1; rm b/f1; rm -r c; mkdir -p n/m; echo 1 > n/m/f; ln -s x n/l; chmod 700 e; rm loose; mkdir loose; echo in > loose/in; chmod 600 a/f2; rm -r a/sub; echo file > a/sub")
		seen := r.box(t)
		_, err := r.accept(r.scan(t))
		must(t, err)
		r.down(t)
		if left, _ := os.ReadDir(r.U("")); len(left) > 0 {
			t.Errorf("the upper keeps %v", left)
		}
		_, err = r.undo()
		must(t, err)
		equal(t, "the host", r.host(t), before)
		equal(t, "the sandbox", r.box(t), seen)
		_, err = r.accept(r.scan(t))
		must(t, err)
		equal(t, "host and sandbox", r.host(t), seen)
	})
}

func TestPruneOfRenames(t *testing.T) {
	story(t, someDirs, func(t *testing.T, r *rig) {
		before := r.host(t)
		r.Sh(t, "mv a moved; echo x >> moved/f1")
		seen := r.box(t)
		r.down(t)
		equal(t, "the sandbox", r.box(t), seen)
		_, err := r.accept(r.scan(t))
		must(t, err)
		r.down(t)
		equal(t, "the sandbox", r.box(t), seen)
		_, err = r.undo()
		must(t, err)
		equal(t, "the host", r.host(t), before)
		equal(t, "the sandbox after undo", r.box(t), seen)
	})
}
