package apply_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox/engine/apply"
	"sandbox/engine/fault"
	"sandbox/internal/testuser"
)

// cutShort leaves an accept that was killed in the middle, and gives the
// directory that its journal has.
func (r *rig) cutShort(t *testing.T) string {
	t.Helper()
	killAfter(9, func() { _, _ = r.accept(r.scan(t)) })
	list, err := filepath.Glob(r.env.Journal + "/*.started")
	must(t, err)
	if len(list) != 1 || !apply.Pending(r.env.Journal) {
		t.Fatalf("interrupted: %v", list)
	}
	return list[0]
}

const three = "echo 1 > a; echo 2 > b; echo 3 > c"

func TestADamagedInterruptedOperationIsSetAside(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		for _, bad := range []string{"", "{}\n", "garbage", "cut"} {
			t.Run(bad, func(t *testing.T) { chapter(t, three, func(t *testing.T, r *rig) { setAside(t, r, bad) }) })
		}
	})
}

func setAside(t *testing.T, r *rig, bad string) {
	r.Sh(t, "for f in a b c; do echo x >> $f; done")
	dir := r.cutShort(t)
	log := read(t, dir+"/log")
	if bad == "cut" {
		bad = log[:len(log)/3]
	}
	must(t, os.WriteFile(dir+"/log", []byte(bad), 0o600))
	host := r.host(t)
	notes, err := apply.Recover(context.Background(), r.env)
	must(t, err)
	aside := strings.TrimSuffix(dir, ".started") + ".damaged"
	if len(notes) != 1 || !strings.Contains(notes[0], aside) || !strings.Contains(notes[0], "Nothing was deleted") {
		t.Errorf("%q", notes)
	}
	equal(t, "the host", r.host(t), host)
	if got := read(t, aside+"/log"); got != bad {
		t.Errorf("the log is %q", got)
	}
	if left, _ := filepath.Glob(aside + "/data/*"); len(left) == 0 {
		t.Error("what was replaced is gone")
	}
	// It stands in nobody's way.
	_, err = r.accept(r.scan(t))
	must(t, err)
	temporaries, _ := filepath.Glob(r.Host + "/.sandbox-tmp-*")
	for _, name := range temporaries {
		must(t, os.Remove(name))
	}
}

func TestANewerJournalIsRefused(t *testing.T) {
	story(t, three, func(t *testing.T, r *rig) {
		r.Sh(t, "for f in a b c; do echo x >> $f; done")
		dir := r.cutShort(t)
		log := read(t, dir+"/log")
		must(t, os.WriteFile(dir+"/log", []byte(strings.Replace(log, `"format":2`, `"format":3`, 1)), 0o600))
		if _, err := apply.Recover(context.Background(), r.env); fault.CodeOf(err) != fault.Unsupported {
			t.Error(err)
		}
		if !apply.Pending(r.env.Journal) {
			t.Error("it is not pending any more")
		}
		must(t, os.WriteFile(dir+"/log", []byte(log), 0o600))
		r.recovered(t)
	})
}

// What somebody edited between the kill and the next command is his.
func TestRecoveryLeavesLaterEditsAlone(t *testing.T) {
	story(t, "for i in 1 2 3 4 5 6; do echo old > f$i; done", func(t *testing.T, r *rig) {
		r.Sh(t, "for i in 1 2 3 4 5 6; do echo new > f$i; done; echo made > added")
		dir := r.cutShort(t)
		r.ShHost(t, "for f in f? added; do if grep -qs 'new\\|made' $f; then echo mine >> $f; echo $f; break; fi; done")
		edited := r.host(t)
		notes, err := apply.Recover(context.Background(), r.env)
		must(t, err)
		if len(notes) != 1 || !strings.Contains(notes[0], "stays as it is") {
			t.Errorf("%q", notes)
		}
		var lost []string
		for line := range strings.Lines(edited) {
			if strings.Contains(line, "mine") && !strings.Contains(r.host(t), line) {
				lost = append(lost, line)
			}
		}
		if len(lost) > 0 {
			t.Errorf("an edit is lost: %v", lost)
		}
		r.noTemporaries(t)
		if left, _ := filepath.Glob(strings.TrimSuffix(dir, ".started") + ".undone/data/*"); len(left) == 0 && !strings.Contains(edited, `"/added"`) {
			t.Error("what was replaced is gone")
		}
	})
}
