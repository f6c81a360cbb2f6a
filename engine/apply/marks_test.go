package apply_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/engine/changes"

	"sandbox/engine/apply"
)

// withBase is a rig of which the bases are kept, and read again when something
// was done.
func (r *rig) withBase(t *testing.T, dir string) (changed func() []apply.Selection) {
	t.Helper()
	r.env.Base = dir
	return func() []apply.Selection {
		t.Helper()
		known, err := base.Load(dir)
		must(t, err)
		r.env.Tree.Base = known
		set, err := changes.Scan(context.Background(), r.env.Tree, changes.Options{})
		must(t, err)
		var sel []apply.Selection
		for i := range set.Changes {
			if set.Changes[i].Conflict {
				t.Errorf("%s is a conflict", set.Changes[i].Path)
			}
			sel = append(sel, apply.Selection{Change: set.Changes[i]})
		}
		return sel
	}
}

func (r *rig) marked(name string) bool {
	n, err := unix.Lgetxattr(r.U(name), r.env.Tree.Xattr+"sandbox.accepted", make([]byte, 4096))
	return err == nil && n > 0
}

// What an accept wrote is the sandbox's own afterwards, as the record of its
// base says; so the file in the upper is not written to.
func TestARecordStandsForAMark(t *testing.T) {
	story(t, "echo one >f; mkdir d; echo two >d/g", func(t *testing.T, r *rig) {
		changed := r.withBase(t, filepath.Join(r.Storage, "base"))
		r.Sh(t, "echo more >>f; echo more >>d/g; echo new >n")
		before := r.host(t)
		for range 2 {
			_, err := r.accept(changed())
			must(t, err)
			for name, want := range map[string]bool{"f": false, "d/g": false, "n": false, "d": true} {
				if got := r.marked(name); got != want {
					t.Errorf("mark on %s: %v, want %v", name, got, want)
				}
			}
			if sel := changed(); len(sel) != 0 {
				t.Errorf("%d changes are left", len(sel))
			}
			r.Sh(t, "echo again >>f; echo again >>d/g; echo again >>n")
			if sel := changed(); len(sel) != 3 {
				t.Errorf("%d changes, want 3", len(sel))
			}
		}
		for range 2 {
			_, err := r.undo()
			must(t, err)
			if sel := changed(); len(sel) != 3 {
				t.Errorf("%d changes after the undo, want 3", len(sel))
			}
		}
		equal(t, "the host before and after", r.host(t), before)
	})
}

// A base that cannot be written down is no reason to fail, nor to see a
// conflict where none is.
func TestAMarkStandsForARecord(t *testing.T) {
	story(t, "echo one >f", func(t *testing.T, r *rig) {
		dir := filepath.Join(r.Storage, "base")
		must(t, os.WriteFile(dir, nil, 0o600))
		r.env.Base = dir
		r.Sh(t, "echo more >>f; echo new >n")
		_, err := r.accept(r.scan(t))
		must(t, err)
		if !r.marked("f") || !r.marked("n") {
			t.Error("neither a record nor a mark says who wrote the files")
		}
		r.Sh(t, "echo again >>f; echo again >>n")
		equal(t, "the changes", r.rows(t), "modified f\nmodified n\n")
	})
}
