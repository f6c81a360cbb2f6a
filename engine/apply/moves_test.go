package apply_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"sandbox/engine/apply"
	"sandbox/engine/fault"
	"sandbox/internal/testlong"
	"sandbox/internal/testuser"
)

// moves are directories that change places. For root the kernel writes down
// where each comes from; for an ordinary user mv copies and deletes.
var moves = []struct{ name, host, box string }{
	{"swap", "mkdir a b; echo 1 > a/one; echo 2 > b/two", "mv a t; mv b a; mv t b"},
	{"rotation", "mkdir a b c; echo 1 > a/one; echo 2 > b/two; echo 3 > c/three", "mv a t; mv b a; mv c b; mv t c"},
	{"parent into the place of its child", "mkdir -p p/c; echo p > p/f; echo c > p/c/g", "mv p/c t; mv p q; mkdir p; mv q p/c; mv t p/d"},
	{"child takes its parent's place", "mkdir -p p/c; echo p > p/f; echo c > p/c/g", "mv p/c t; rm -r p; mv t p"},
	{"deleted and made again", "mkdir -p a/sub; echo 1 > a/one; echo 2 > a/sub/two", "rm -r a; mkdir a; echo new > a/new"},
	{"nested", "mkdir -p a/b/c; echo 1 > a/one; echo 2 > a/b/two; echo 3 > a/b/c/three", "mv a/b/c a/b/d; mv a/b a/e; mv a f"},
	{"over a name that the host has", "mkdir a b; echo 1 > a/one; echo 2 > b/two; echo both > a/both; echo other > b/both", "rm -r b; mv a b"},
	{"link and back", "mkdir a b; echo 1 > a/one; echo 2 > b/two", "rm -r a; ln -s b a; rm a; mkdir a; echo 3 > a/three; mv b c; ln -s c b"},
	{"directory becomes a link to itself elsewhere", "mkdir a; echo 1 > a/one", "mv a b; ln -s b a"},
	{"edited inside", "mkdir -p a/sub; echo 1 > a/one; echo 2 > a/sub/two; echo x > a/gone", "mv a b; echo 1b > b/one; echo n > b/sub/new; rm b/gone"},
	{"into a directory that was made again", "mkdir -p a/in k; echo 1 > a/in/one; echo 2 > k/two", "mv a/in t; rm -r a; mkdir a; mv t a/in; mv k a/k"},
	{"new parents", "mkdir a; echo 1 > a/one", "mkdir -p n/m; mv a n/m/a; echo f > n/f"},
}

// Whatever part of such changes is taken first, with the rest taken too the
// host is what the sandbox sees; given up instead, the sandbox is what the host
// was. A part that cannot be taken alone is refused before anything is written.
func TestAnyPartOfMovesAndThenTheRest(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		for _, m := range moves {
			t.Run(m.name, func(t *testing.T) {
				chapter(t, m.host, func(t *testing.T, r *rig) { r.accepts(t, m.box) })
				if m.name == "child takes its parent's place" && os.Getuid() == 0 {
					chapter(t, m.host, func(t *testing.T, r *rig) { r.refuses(t, m.box) })
					return
				}
				for i := range testlong.Pick(2, 30) { // the undo of a reject makes renamed directories anew, as copies
					chapter(t, m.host, func(t *testing.T, r *rig) { r.rejects(t, m.box, i) })
				}
			})
		}
	})
}

func (r *rig) accepts(t *testing.T, box string) {
	t.Helper()
	before := r.host(t)
	r.Sh(t, box)
	seen, rows, listed := r.box(t), r.scan(t), r.rows(t)
	for _, part := range subsets(len(rows), testlong.Pick(15, 200)) {
		sel, names := r.chosen(rows, part)
		what := fmt.Sprintf("accept of %q", names)
		r.part(t, "accept", what, sel, before, seen)
		equal(t, "status after "+what+" and undo", r.rows(t), listed)
		if t.Failed() {
			t.Fatalf("status was:\n%s", listed)
		}
	}
}

func (r *rig) rejects(t *testing.T, box string, number int) {
	t.Helper()
	before := r.host(t)
	r.Sh(t, box)
	seen, rows, listed := r.box(t), r.scan(t), r.rows(t)
	parts := subsets(len(rows), 30)
	sel, names := r.chosen(rows, parts[number%len(parts)])
	r.part(t, "reject", fmt.Sprintf("reject of %q", names), sel, before, seen)
	if t.Failed() {
		t.Fatalf("status was:\n%s", listed)
	}
}

// refuses holds a reject that cannot be done to saying so before it begins.
func (r *rig) refuses(t *testing.T, box string) {
	t.Helper()
	r.Sh(t, box)
	before, seen, listed := r.host(t), r.box(t), r.rows(t)
	if _, err := r.reject(r.scan(t)); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("reject: %v", err)
	}
	equal(t, "the host", r.host(t), before)
	equal(t, "the sandbox", r.box(t), seen)
	equal(t, "status", r.rows(t), listed)
}

// chosen gives the rows of a part, and their names.
func (r *rig) chosen(rows []apply.Selection, part uint64) (sel []apply.Selection, names []string) {
	for i, s := range rows {
		if part&(1<<i) != 0 {
			sel = append(sel, s)
			names = append(names, strings.TrimPrefix(s.Change.Path, r.Host+"/"))
		}
	}
	return sel, names
}

// part takes or gives up a part, then the rest, and takes all of it back.
func (r *rig) part(t *testing.T, do, what string, sel []apply.Selection, before, seen string) {
	t.Helper()
	op := r.accept
	if do == "reject" {
		op = r.reject
	}
	done := 0
	res, err := op(sel)
	switch {
	case err != nil && fault.CodeOf(err) != fault.Conflict:
		t.Errorf("%s: %v", what, err)
	case err != nil:
		equal(t, "the host after a refused "+what, r.host(t), before)
		equal(t, "the sandbox after a refused "+what, r.box(t), seen)
	}
	if res.ID != "" {
		done++
	}
	if do == "accept" {
		equal(t, "the sandbox after "+what, r.box(t), seen)
	} else {
		equal(t, "the host after "+what, r.host(t), before)
	}
	rest := r.scan(t)
	res, err = op(rest)
	if err != nil || len(res.Skipped) > 0 {
		t.Errorf("the rest after %s: %v %v", what, res.Skipped, err)
	}
	if res.ID != "" {
		done++
	}
	want := seen
	if do == "reject" {
		want = before
	}
	equal(t, "the host after "+what+" and the rest", r.host(t), want)
	equal(t, "the sandbox after "+what+" and the rest", r.box(t), want)
	if left := r.rows(t); left != "" {
		t.Errorf("left after %s and the rest:\n%s", what, left)
	}
	for range done {
		_, err := r.undo()
		must(t, err)
	}
	equal(t, "the host after undo of "+what, r.host(t), before)
	equal(t, "the sandbox after undo of "+what, r.box(t), seen)
}

// subsets gives every part of n things, or so many of them, always the same.
func subsets(n, limit int) []uint64 {
	var out []uint64
	if n < 20 && 1<<n-1 <= limit {
		for i := uint64(1); i < 1<<n; i++ {
			out = append(out, i)
		}
		return out
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same parts every time
	for range limit {
		out = append(out, 1+random.Uint64N(1<<n-1))
	}
	return out
}
