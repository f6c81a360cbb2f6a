package apply_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// blocks gives the ids of the line hunks of one file, in order.
func (r *rig) blocks(t *testing.T, name string) []string {
	t.Helper()
	side := func(path string) diff.Side {
		st, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			return diff.Side{Type: entry.None}
		}
		must(t, err)
		data, err := os.ReadFile(path)
		must(t, err)
		return diff.Side{Type: entry.File, Mode: uint32(st.Mode().Perm()), Data: data}
	}
	var ids []string
	for _, h := range diff.Compare(r.H(name), side(r.H(name)), side(r.M(name))) {
		ids = append(ids, h.ID)
	}
	return ids
}

func (r *rig) selectHunks(t *testing.T, name string, ids ...string) []apply.Selection {
	t.Helper()
	sel := r.scan(t, name)
	if len(sel) != 1 {
		t.Fatalf("%s: %d changes", name, len(sel))
	}
	sel[0].Hunks = ids
	return sel
}

func lines(eol string, names ...string) string { return strings.Join(names, eol) + eol }

func (r *rig) put(t *testing.T, path, data string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(data), 0o600))
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// Four blocks, in files of several sorts: the second is taken, the third
// dropped, the rest taken whole, all of it taken back.
func TestBlocksOneByOne(t *testing.T) {
	host := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"}
	change := func(at ...int) []string {
		out := append([]string{}, host...)
		for _, i := range at {
			out[i] += " changed \xe9"
		}
		return out
	}
	cases := map[string]func(names ...string) string{
		"lf":       func(n ...string) string { return lines("\n", n...) },
		"crlf":     func(n ...string) string { return lines("\r\n", n...) },
		"no-final": func(n ...string) string { return strings.Join(n, "\n") },
		"bom":      func(n ...string) string { return "\xef\xbb\xbf" + lines("\n", n...) },
		"latin-1":  func(n ...string) string { return strings.ReplaceAll(lines("\n", n...), "q", "\xfc") },
	}
	story(t, "chmod 755 .", func(t *testing.T, r *rig) {
		for name, text := range cases {
			r.put(t, r.H(name), text(host...))
			must(t, os.Chmod(r.H(name), 0o751)) //nolint:gosec // the case
			before := r.host(t)
			r.put(t, r.M(name), text(change(1, 7, 13, 18)...))
			sandbox := r.box(t)
			ids := r.blocks(t, name)
			if len(ids) != 4 {
				t.Fatalf("%s: %d blocks", name, len(ids))
			}

			_, err := r.accept(r.selectHunks(t, name, ids[1]))
			must(t, err)
			if got, want := read(t, r.H(name)), text(change(7)...); got != want {
				t.Errorf("%s: block 2 taken: %q", name, got)
			}
			if st, _ := os.Stat(r.H(name)); st.Mode().Perm() != 0o751 {
				t.Errorf("%s: the mode became %v", name, st.Mode())
			}
			equal(t, name+": the sandbox", r.box(t), sandbox)

			ids = r.blocks(t, name)
			_, err = r.reject(r.selectHunks(t, name, ids[1]))
			must(t, err)
			if got, want := read(t, r.M(name)), text(change(1, 7, 18)...); got != want {
				t.Errorf("%s: block 3 dropped: %q", name, got)
			}

			sel := r.scan(t, name)
			if len(sel) != 1 || sel[0].Change.Conflict {
				t.Fatalf("%s: our own write is a conflict: %+v", name, sel)
			}
			_, err = r.accept(sel)
			must(t, err)
			if got, want := read(t, r.H(name)), text(change(1, 7, 18)...); got != want {
				t.Errorf("%s: the rest taken: %q", name, got)
			}
			if rows := r.rows(t); rows != "" {
				t.Errorf("%s: left: %s", name, rows)
			}

			for range 3 {
				_, err = r.undo()
				must(t, err)
			}
			equal(t, name+": the host after three undos", r.host(t), before)
			equal(t, name+": the sandbox after three undos", r.box(t), sandbox)
			_, err = r.reject(r.scan(t))
			must(t, err)
		}
	})
}

func TestABlockThatIsNotThereAnyMoreIsStale(t *testing.T) {
	story(t, "seq 30 > f", func(t *testing.T, r *rig) {
		r.Sh(t, "sed -i 's/^5$/five/; s/^20$/twenty/' f")
		ids := r.blocks(t, "f")
		sel := r.selectHunks(t, "f", ids[0])
		r.Sh(t, "sed -i 's/^five$/FIVE/' f")
		sel[0].Change = r.scan(t, "f")[0].Change
		before, seen := r.host(t), r.box(t)
		if _, err := r.accept(sel); fault.ExitCode(err) != 4 {
			t.Errorf("accept: %v", err)
		}
		if _, err := r.reject(sel); fault.ExitCode(err) != 4 {
			t.Errorf("reject: %v", err)
		}
		equal(t, "host", r.host(t), before)
		equal(t, "sandbox", r.box(t), seen)
	})
}

func TestBlocksOfOneFileMayComeOneByOne(t *testing.T) {
	story(t, "seq 30 > f", func(t *testing.T, r *rig) {
		r.Sh(t, "sed -i 's/^5$/five/; s/^15$/fifteen/; s/^25$/twenty-five/' f")
		ids := r.blocks(t, "f")
		sel := append(r.selectHunks(t, "f", ids[2]), r.selectHunks(t, "f", ids[0])...)
		sel = append(sel, r.selectHunks(t, "f", ids[0])...)
		_, err := r.accept(sel)
		must(t, err)
		if got := read(t, r.H("f")); !strings.Contains(got, "five\n") || strings.Contains(got, "fifteen") || !strings.Contains(got, "twenty-five") {
			t.Errorf("%q", got)
		}
		none := r.selectHunks(t, "f")
		none[0].Hunks = []string{}
		if _, err := r.accept(none); fault.CodeOf(err) != fault.Usage {
			t.Errorf("no block: %v", err)
		}
		if _, err := r.reject(none); fault.CodeOf(err) != fault.Usage {
			t.Errorf("no block: %v", err)
		}
	})
}

func TestBlocksOfNewGoneAndRenamedFiles(t *testing.T) {
	story(t, "seq 40 > old; seq 9 > gone", func(t *testing.T, r *rig) {
		r.Sh(t, "mv old new; sed -i 's/^20$/twenty/' new; rm gone; echo hello > added")
		before, seen := r.host(t), r.box(t)
		for _, name := range []string{"gone", "added"} {
			ids := r.blocks(t, name)
			if len(ids) != 1 {
				t.Fatalf("%s: %v", name, ids)
			}
			_, err := r.accept(r.selectHunks(t, name, ids[0]))
			must(t, err)
			_, err = r.undo()
			must(t, err)
			equal(t, name+": host after undo", r.host(t), before)
			_, err = r.reject(r.selectHunks(t, name, ids[0]))
			must(t, err)
			_, err = r.undo()
			must(t, err)
			equal(t, name+": sandbox after undo", r.box(t), seen)
		}
		// A block of a renamed file goes to the host's file, under its old name.
		sel := r.scan(t, "new")
		if len(sel) != 1 || sel[0].Change.From != r.H("old") {
			t.Fatalf("%+v", sel)
		}
		host := diff.Side{Type: entry.File, Mode: sel[0].Change.Host.Mode, Data: []byte(read(t, r.H("old")))}
		box := diff.Side{Type: entry.File, Mode: sel[0].Change.Sandbox.Mode, Data: []byte(read(t, r.M("new")))}
		sel[0].Hunks = []string{diff.Compare(r.H("new"), host, box)[0].ID}
		_, err := r.accept(sel)
		must(t, err)
		if got := read(t, r.H("old")); got != read(t, r.M("new")) {
			t.Errorf("old is %q", got)
		}
		_, err = r.undo()
		must(t, err)
		equal(t, "host after undo", r.host(t), before)
		edit := sel[0].Hunks[0]
		name := diff.Rename(r.H("old"), r.H("new")).ID
		// The name apart from the edit, and both together.
		sel[0].Hunks = []string{name}
		_, err = r.accept(sel)
		must(t, err)
		if read(t, r.H("new")) != string(host.Data) || exists(r.H("old")) {
			t.Error("the name alone was not taken")
		}
		left := r.scan(t, "new")
		if len(left) != 1 || left[0].Change.Kind != changes.Modified || left[0].Change.Conflict {
			t.Errorf("what is left: %+v", left)
		} else {
			_, err = r.accept(left)
			must(t, err)
			if read(t, r.H("new")) != read(t, r.M("new")) {
				t.Error("the edit after the name")
			}
			_, err = r.undo()
			must(t, err)
		}
		_, err = r.undo()
		must(t, err)
		equal(t, "host after undo of the name", r.host(t), before)
		sel[0].Hunks = []string{edit, name}
		_, err = r.accept(sel)
		must(t, err)
		if read(t, r.H("new")) != read(t, r.M("new")) || exists(r.H("old")) {
			t.Error("name and edit together were not taken")
		}
		_, err = r.undo()
		must(t, err)
		equal(t, "host after undo of both", r.host(t), before)
		sel[0].Hunks = []string{edit}
		_, err = r.reject(sel)
		must(t, err)
		if got := read(t, r.M("new")); got != read(t, r.H("old")) {
			t.Errorf("new is %q", got)
		}
	})
}

func TestConflictNamesBothAndWritesNothing(t *testing.T) {
	story(t, "echo one > f; echo one > g; mkdir d; echo x > d/x; echo x > d/y", func(t *testing.T, r *rig) {
		r.Sh(t, "echo sandbox > f; echo sandbox > g; rm -r d; echo mine > new")
		r.ShHost(t, "sleep 0.02; echo user > f; echo user > d/x; echo yours > new")
		before, seen := r.host(t), r.box(t)
		for _, name := range []string{"f", "d", "new", ""} {
			_, err := r.accept(r.scan(t, name))
			if fault.CodeOf(err) != fault.Conflict || fault.ExitCode(err) != 4 || !strings.Contains(err.Error(), "host") || !strings.Contains(err.Error(), "sandbox") {
				t.Errorf("%q: %v", name, err)
			}
		}
		equal(t, "host", r.host(t), before)
		if _, err := os.Stat(r.env.Journal); err == nil {
			if left, _ := os.ReadDir(r.env.Journal); len(left) > 0 {
				t.Error("the journal is not empty")
			}
		}
		res, err := apply.Accept(context.Background(), r.env, r.scan(t), apply.Options{SkipConflicts: true})
		must(t, err)
		if read(t, r.H("g")) != "sandbox\n" || read(t, r.H("f")) != "user\n" || read(t, r.H("new")) != "yours\n" {
			t.Errorf("done %v, skipped %v", res.Done, res.Skipped)
		}
		if _, err := os.Stat(r.H("d/y")); err == nil {
			t.Error("d/y is there")
		}
		if read(t, r.H("d/x")) != "user\n" || len(res.Skipped) != 4 { // f, new, d/x, and d because of it
			t.Errorf("skipped %v", res.Skipped)
		}
		equal(t, "sandbox", r.box(t), seen)
	})
}

// Whether the host's edit is a conflict was not known to the scan.
func TestAnEditSinceTheScanIsNotOverwritten(t *testing.T) {
	story(t, "echo one > f; echo one > g; echo one > h", func(t *testing.T, r *rig) {
		r.Sh(t, "echo two > f; rm g; echo two > new")
		sel := r.scan(t)
		for _, edit := range []string{"echo user > f", "echo user > g", "echo user > new"} {
			r.ShHost(t, edit)
			before := r.host(t)
			if _, err := r.accept(sel); fault.ExitCode(err) != 4 {
				t.Errorf("%s: %v", edit, err)
			}
			equal(t, edit+": host", r.host(t), before)
			r.ShHost(t, "echo one > f; echo one > g; rm -f new")
			sel = r.scan(t)
		}
	})
}

func TestStaleOnEitherSideWritesNothing(t *testing.T) {
	story(t, "echo one > f; echo one > g; mkdir d; echo x > d/x", func(t *testing.T, r *rig) {
		r.Sh(t, "echo two > f; echo two > g; rm -r d")
		decide := func() []apply.Selection {
			sel := r.scan(t)
			for i := range sel {
				c := sel[i].Change
				sel[i].Host, sel[i].Sandbox = entry.Print(c.Host.Type), entry.PrintNone
				if c.Host.Type == entry.File {
					sel[i].Host = entry.PrintBytes([]byte(read(t, c.Path)))
				}
				if c.Sandbox.Type == entry.File {
					sel[i].Sandbox = entry.PrintBytes([]byte(read(t, c.Upper)))
				}
			}
			return sel
		}
		for what, edit := range map[string]func(){
			"host file":     func() { r.put(t, r.H("g"), "edited") },
			"sandbox file":  func() { r.put(t, r.M("g"), "edited") },
			"host gone":     func() { must(t, os.Remove(r.H("g"))) },
			"sandbox gone":  func() { must(t, os.Remove(r.M("g"))) },
			"below deleted": func() { r.put(t, r.H("d/x"), "edited") },
			"made again":    func() { must(t, os.Mkdir(r.M("d"), 0o755)) },
			"type":          func() { must(t, os.Remove(r.M("g"))); must(t, os.Symlink("x", r.M("g"))) },
		} {
			sel := decide()
			edit()
			host, box := r.host(t), r.box(t)
			for i := range sel { // the facade scans again; the decision is what was seen
				sel[i].Change.Conflict = false
			}
			if _, err := r.accept(sel); fault.CodeOf(err) != fault.Stale {
				t.Errorf("%s: accept: %v", what, err)
			}
			if _, err := r.reject(sel); fault.CodeOf(err) != fault.Stale {
				t.Errorf("%s: reject: %v", what, err)
			}
			equal(t, what+": host", r.host(t), host)
			equal(t, what+": sandbox", r.box(t), box)
			r.ShHost(t, "rm -rf *; echo one > f; echo one > g; mkdir d; echo x > d/x")
			must(t, r.Sync())
			r.Sh(t, "rm -rf f g d; mkdir d; echo x > d/x; echo two > f; echo two > g; rm -r d")
		}
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
