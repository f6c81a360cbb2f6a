package kinds

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandbox/internal/testlong"
	"sandbox/internal/testuser"
)

// one is one story of an entry, in a directory of its own. All stories of a
// table are told in one sandbox.
type one struct {
	name string
	host func(dir string) error // builds what the host has
	box  func(dir string) error // what a program does, in the sandbox
	// want are the rows of status, their paths below the story's directory.
	want []string
	// unasked are the paths that accept leaves alone unless Special is asked
	// for, never those that it leaves alone always, stays those that reject does.
	unasked, never, stays []string
	// lost are the paths that an undo of a reject cannot give back.
	lost []string
	// apart are the paths whose hard links are not kept on the host, noted those
	// of which the result says so; torn those whose links an undo does not give
	// back to the sandbox (of an accept only when the sandbox was down).
	apart, noted, torn []string
	// mode is "P" or "U" for what only that one can do.
	mode string
}

// tables are the stories by name; a program in a sandbox finds its part here.
var tables = map[string]func() []one{
	"kinds": func() []one { return slices.Concat(pairs(), attributes(), names(), links()) },
}

func mode() string {
	if os.Getuid() == 0 {
		return "P"
	}
	return "U"
}

func stories(table string) []one {
	return slices.DeleteFunc(tables[table](), func(o one) bool { return o.mode != "" && o.mode != mode() })
}

// buildBox does all that the programs of a table do.
func buildBox(table, dir string) error {
	for _, o := range stories(table) {
		if err := o.box(filepath.Join(dir, o.name)); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return nil
}

// Every kind of entry becomes every other one; attributes, names and links are
// those that trip up programs.
func TestWhatCanBecomeOfAnEntry(t *testing.T) { tell(t, "kinds") }

// tell plays a table: status, accept, undo, accept with all that must be asked
// for, undo, reject, undo.
func tell(t *testing.T, table string) {
	t.Helper()
	testuser.Both(t, func(t *testing.T) { states(t, func(w world) { w.tell(table) }) })
}

func (w world) tell(table string) {
	w.Helper()
	list := stories(table)
	up := 1 // without SANDBOX_LONG, special things are asked for while it runs only
	if w.down || testlong.Enabled() {
		up = 0
	}
	var want []string
	unasked, never, stays, lost := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, o := range list {
		dir := filepath.Join(w.dir, o.name)
		must(w, os.Mkdir(dir, 0o755)) //nolint:gosec // a project like others
		if err := o.host(dir); err != nil {
			w.Fatalf("%s: %v", o.name, err)
		}
		for _, row := range o.want {
			want = append(want, rooted(row, o.name))
		}
		for set, paths := range map[*map[string]bool][]string{&unasked: o.unasked, &never: o.never, &stays: o.stays, &lost: o.lost} {
			for _, p := range paths {
				(*set)[filepath.Join(o.name, p)] = true
			}
		}
	}
	for p := range never {
		unasked[p] = true
	}
	apart, noted, torn := map[string]bool{}, []string{}, map[string]bool{}
	for _, o := range list {
		for _, p := range o.apart {
			apart[filepath.Join(o.name, p)] = true
		}
		for _, p := range o.torn {
			torn[filepath.Join(o.name, p)] = true
		}
		for _, p := range o.noted {
			noted = append(noted, filepath.Join(o.name, p))
		}
	}
	timed := map[string]bool{} // paths that are listed as changed
	for _, row := range want {
		timed[pathOf(row)] = true
	}
	before := w.host()
	instead := tree{} // what comes of the lost ones: a directory is not put back for them
	for p, l := range before {
		if lost[p] && !strings.HasPrefix(l.Text, "4") {
			instead[p] = l
		}
	}
	w.run(table)
	seen := w.view()
	together := maps.Clone(seen)
	seen.dissolve(apart)
	same(w, "the host while the program works", w.host(), before, timed, nil, nil)
	w.settle()
	sameRows(w, w.rows(), want)

	for _, special := range []bool{false, true}[:testlong.Pick(1, 2)+up] {
		what, left := "accept", unasked
		if special {
			what, left = "accept of special things too", never
		}
		r := w.accept(w.everything(special))
		for _, s := range r.Skipped {
			if !left[w.rel(s.Path)] {
				w.Errorf("%s skipped %q: %s", what, w.rel(s.Path), s.Reason)
			}
		}
		host, view := w.host(), w.view()
		w.noTemporaries(host, view)
		var said []string
		for _, n := range r.Notes {
			said = append(said, w.rel(n.Path))
		}
		for _, p := range append(slices.Clone(said), noted...) {
			// While the sandbox is down, a file that is equal to the host's goes.
			if slices.Contains(said, p) != slices.Contains(noted, p) && !(w.down && apart[p]) {
				w.Errorf("%s noted %q, want %q", what, said, noted)
			}
		}
		host.dissolve(apart)
		if w.down {
			together.dissolve(apart)
			view.dissolve(apart)
		}
		same(w, "the host after "+what, host, seen, timed, left, before)
		same(w, "the sandbox after "+what, view, together, timed, nil, nil)
		w.settle()
		for _, row := range w.rows() {
			if !left[pathOf(row)] {
				w.Errorf("left after %s: %s", what, row)
			}
		}
		w.undo()
		same(w, "the host after undo of "+what, w.host(), before, timed, nil, nil)
		view = w.view()
		view.dissolve(apart)
		if w.down {
			view.dissolve(torn)
			seen.dissolve(torn)
			together.dissolve(torn)
			apart = maps.Clone(apart)
			maps.Copy(apart, torn)
		}
		same(w, "the sandbox after undo of "+what, view, seen, timed, nil, nil)
		w.settle()
		sameRows(w, w.rows(), want)
	}

	r := w.reject(w.everything(false))
	for _, s := range r.Skipped {
		if !stays[w.rel(s.Path)] {
			w.Errorf("reject skipped %q: %s", w.rel(s.Path), s.Reason)
		}
	}
	host, view := w.host(), w.view()
	w.noTemporaries(host, view)
	same(w, "the host after reject", host, before, timed, nil, nil)
	same(w, "the sandbox after reject", view, before, timed, stays, seen)
	w.settle()
	for _, row := range w.rows() {
		if !stays[pathOf(row)] {
			w.Errorf("left after reject: %s", row)
		}
	}
	w.undo()
	same(w, "the host after undo of reject", w.host(), before, timed, nil, nil)
	view = w.view()
	view.dissolve(apart)
	view.dissolve(torn)
	seen.dissolve(torn)
	if w.down { // what the upper had is moved back as it was
		lost, instead = nil, nil
	}
	same(w, "the sandbox after undo of reject", view, seen, timed, lost, instead)
}

// rooted puts the paths of a row below a directory.
func rooted(row, dir string) string {
	kind, rest, _ := strings.Cut(row, " ")
	p, from, moved := strings.Cut(rest, " <- ")
	out := kind + " " + filepath.Join(dir, p)
	if moved {
		out += " <- " + filepath.Join(dir, from)
	}
	return out
}

func pathOf(row string) string {
	_, rest, _ := strings.Cut(row, " ")
	p, _, _ := strings.Cut(rest, " <- ")
	return strings.TrimSuffix(p, " !")
}

func sameRows(t testing.TB, got, want []string) {
	t.Helper()
	for _, row := range got {
		if !slices.Contains(want, row) {
			t.Errorf("status lists %q", row)
		}
	}
	for _, row := range want {
		if !slices.Contains(got, row) {
			t.Errorf("status does not list %q", row)
		}
	}
}
