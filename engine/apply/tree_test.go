package apply_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"sandbox/engine/apply"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/internal/testuser"
)

// there and back: accept gives the host what the sandbox sees, undo gives it
// back; reject gives the sandbox what the host has, undo gives that back.
func roundTrip(t *testing.T, r *rig, before string) {
	t.Helper()
	seen := r.box(t)
	res, err := r.accept(r.scan(t))
	must(t, err)
	if len(res.Skipped) > 0 {
		t.Errorf("skipped: %v", res.Skipped)
	}
	equal(t, "host and sandbox after accept", r.host(t), seen)
	must(t, r.Sync())
	equal(t, "the sandbox after accept and sync", r.box(t), seen)
	if rows := r.rows(t); rows != "" {
		t.Errorf("left after accept:\n%s", rows)
	}
	_, err = r.undo()
	must(t, err)
	equal(t, "the host after undo", r.host(t), before)
	must(t, r.Sync())
	equal(t, "the sandbox after undo", r.box(t), seen)
	if rows := r.rows(t); strings.Contains(rows, "!") {
		t.Errorf("conflicts after undo:\n%s", rows)
	}
	res, err = r.reject(r.scan(t))
	must(t, err)
	if len(res.Skipped) > 0 {
		t.Errorf("skipped: %v", res.Skipped)
	}
	equal(t, "the sandbox after reject", r.box(t), before)
	must(t, r.Sync())
	equal(t, "the sandbox after reject and sync", r.box(t), before)
	equal(t, "the host after reject", r.host(t), before)
	if rows := r.rows(t); rows != "" {
		t.Errorf("left after reject:\n%s", rows)
	}
	_, err = r.undo()
	must(t, err)
	equal(t, "the sandbox after undo of reject", r.box(t), seen)
	// Once more, for the state that an undo leaves.
	_, err = r.accept(r.scan(t))
	must(t, err)
	equal(t, "host and sandbox after the second accept", r.host(t), seen)
	_, err = r.undo()
	must(t, err)
	equal(t, "the host after the second undo", r.host(t), before)
}

const someDirs = `
mkdir -p a/sub/deep b c e; for d in a b c a/sub a/sub/deep; do for i in 1 2 3; do echo $d $i > $d/f$i; done; done
ln -s ../b a/link; mkdir -m 700 a/private; echo p > a/private/p; echo loose > loose; mkfifo b/pipe`

func TestTreesMoveAndChange(t *testing.T) {
	changes := map[string]string{
		"rename a directory":           "mv a new",
		"rename and edit in it":        "mv a new; echo more >> new/f1; rm new/f2; echo n > new/n; rm -r new/sub/deep; chmod 600 new/f3",
		"rename into another":          "mv a b/a",
		"rename out of a deleted one":  "mv a/sub kept; rm -r a",
		"swap":                         "mv a x; mv b a; mv x b",
		"rotate three":                 "mv a x; mv b a; mv c b; mv x c; echo y >> a/f1",
		"parent into its child's name": "mv a/sub x; mv a x/a; mv x a",
		"nested renames":               "mv a n; mv n/sub n/other; mv n/other/deep out; echo e > out/e; echo f >> n/f1",
		"rename over a directory":      "rm -r b; mv a b",
		"rename over with its content": "mv b/f1 kept; rm -r b; mv a b; echo z > b/z",
		"new thing at the old name":    "mv a n; mkdir a; echo 1 > a/f1; echo 2 > a/new",
		"new file at the old name":     "mv a n; echo file > a",
		"delete a tree":                "rm -r a",
		"delete and make again":        "rm -r a; mkdir a; echo new > a/f1; echo more > a/more",
		"replace by a link to a dir":   "rm -r a; ln -s b a",
		"replace a link by a dir":      "rm a/link; mkdir a/link; echo x > a/link/x",
		"deep new tree":                "mkdir -p n/o/p/q; echo 1 > n/o/p/q/f; echo 2 > n/f",
		"files move":                   "mv a/f1 b/moved; mv loose a/loose; echo edited > a/f2",
		"modes and times":              "chmod 751 a; chmod 4755 loose || :; chmod 755 loose; chmod 1777 e; touch -d 2001-01-01 a/f1; echo x >> a/f1; touch -d 2001-01-01 a/f1",
		"fifos":                        "rm b/pipe; mkfifo a/pipe2; echo p > b/pipe",
		"swap files":                   "mv a/f1 x; mv b/f1 a/f1; mv x b/f1",
	}
	testuser.Both(t, func(t *testing.T) {
		for name, sh := range changes {
			t.Run(name, func(t *testing.T) {
				chapter(t, someDirs, func(t *testing.T, r *rig) {
					before := r.host(t)
					r.Sh(t, sh)
					roundTrip(t, r, before)
				})
			})
		}
	})
}

// One of two renames is accepted: the other still finds its content, which the
// host has under another name by now.
func TestOneOfTwoNestedRenames(t *testing.T) {
	story(t, someDirs, func(t *testing.T, r *rig) {
		before := r.host(t)
		r.Sh(t, "mv a n; mv n/sub out")
		seen := r.box(t)
		var sel []apply.Selection
		for _, s := range r.scan(t) {
			if !strings.HasPrefix(s.Change.Path+"/", r.H("out/")) {
				sel = append(sel, s)
			}
		}
		_, err := r.accept(sel)
		must(t, err)
		must(t, r.Sync())
		equal(t, "the sandbox", r.box(t), seen)
		_, err = r.accept(r.scan(t))
		must(t, err)
		must(t, r.Sync())
		equal(t, "the sandbox", r.box(t), seen)
		equal(t, "host and sandbox", r.host(t), seen)
		for range 2 {
			_, err = r.undo()
			must(t, err)
			must(t, r.Sync())
			equal(t, "the sandbox after undo", r.box(t), seen)
		}
		equal(t, "the host after undo", r.host(t), before)
	})
}

// Directories that nobody may write, as in a module cache, come and go.
func TestReadOnlyTrees(t *testing.T) {
	story(t, "mkdir -p c/d; echo 1 > c/f; echo 2 > c/d/f; chmod 444 c/f; chmod 555 c/d c", func(t *testing.T, r *rig) {
		before := r.host(t)
		r.Sh(t, "mkdir n; echo 1 > n/f; chmod 444 n/f; mkdir n/d; echo 2 > n/d/f; chmod 555 n/d n; chmod -R u+w c; rm -r c")
		seen := r.box(t)
		_, err := r.accept(r.scan(t))
		must(t, err)
		equal(t, "host and sandbox", r.host(t), seen)
		_, err = r.undo()
		must(t, err)
		equal(t, "host after undo", r.host(t), before)
		equal(t, "sandbox", r.box(t), seen)
	})
}

func TestNamesOfAnyBytes(t *testing.T) {
	names := []string{"a\nb", "\xff\xfe", strings.Repeat("n", 255), "we:ird, \\ \"x\t", "-rf", " lead", "trail ", ".wh.x", "日本語", "*", "\x1b]52;", "a'b"}
	dir := func(n string) string { return "d" + n[:min(len(n), 254)] }
	story(t, "", func(t *testing.T, r *rig) {
		for i, n := range names {
			r.put(t, r.H(n), "host")
			must(t, os.Mkdir(r.H(dir(n)), 0o755))
			if i%2 == 0 {
				r.put(t, r.H(dir(n)+"/"+n), "host")
			}
		}
		must(t, r.Sync())
		before := r.host(t)
		for i, n := range names {
			r.put(t, r.M(n), "sandbox"+n)
			r.put(t, r.M(dir(n)+"/"+dir(n)), "new")
			if i%3 == 0 {
				must(t, os.Remove(r.M(n)))
			}
		}
		roundTrip(t, r, before)
	})
}

// One path at a time, whatever hangs together is made or refused, and the rest
// of the host stays as it is.
func TestOnePathAtATime(t *testing.T) {
	story(t, someDirs, func(t *testing.T, r *rig) {
		before := r.host(t)
		r.Sh(t, "mkdir -p n/o/p; chmod 711 n/o; echo 1 > n/o/p/f; echo 2 > n/o/g; rm -r b; mv a moved; echo more >> moved/f1; rm -r c; echo file > c")
		seen := r.box(t)
		one := func(name string) []apply.Selection {
			for _, s := range r.scan(t) {
				if s.Change.Path == r.H(name) {
					return []apply.Selection{s}
				}
			}
			t.Fatalf("no change %s in\n%s", name, r.rows(t))
			return nil
		}
		res, err := r.accept(one("n/o/p/f"))
		must(t, err)
		if len(res.Done) != 4 || read(t, r.H("n/o/p/f")) != "1\n" {
			t.Errorf("done: %v", res.Done)
		}
		if st, err := os.Stat(r.H("n/o")); err != nil || st.Mode().Perm() != 0o711 {
			t.Errorf("an implied parent: %v %v", st, err)
		}
		if _, err := os.Lstat(r.H("n/o/g")); err == nil {
			t.Error("more than was asked for")
		}
		_, err = r.undo()
		must(t, err)
		equal(t, "host after undo", r.host(t), before)

		// A file of a directory that is gone; the directory cannot go yet.
		_, err = r.accept(one("b/f1"))
		must(t, err)
		if _, err := os.Lstat(r.H("b/f2")); err != nil {
			t.Error("more than was asked for")
		}
		res, err = r.accept(one("b"))
		must(t, err)
		if len(res.Skipped) != 1 || len(res.Done) != 0 || res.ID != "" {
			t.Errorf("a directory that still holds something: %+v", res)
		}
		_, err = r.undo()
		must(t, err)
		equal(t, "host after undo", r.host(t), before)

		// A file in a directory that was renamed by the kernel, or (mode U) made.
		moved := r.H("moved/f1")
		for _, s := range r.scan(t) {
			if s.Change.Path != moved {
				continue
			}
			_, err = r.accept([]apply.Selection{s})
			if os.Getuid() == 0 { // the host has the rest of it under the old name only
				if fault.CodeOf(err) != fault.Conflict {
					t.Errorf("a file of a renamed directory alone: %v", err)
				}
				continue
			}
			must(t, err)
			if read(t, moved) != read(t, r.M("moved/f1")) {
				t.Error("moved/f1")
			}
			_, err = r.undo()
			must(t, err)
		}
		equal(t, "host after undo", r.host(t), before)

		// Reject one file of a deleted directory: its directory comes back with it.
		_, err = r.reject(one("b/f1"))
		must(t, err)
		if read(t, r.M("b/f1")) != "b 1\n" {
			t.Error("b/f1")
		}
		if _, err := os.Lstat(r.M("b/f2")); err == nil {
			t.Error("b/f2 came back too")
		}
		_, err = r.undo()
		must(t, err)
		equal(t, "sandbox after undo", r.box(t), seen)

		// Rejecting a new directory alone would take what was not chosen.
		res, err = r.reject(one("n"))
		must(t, err)
		if len(res.Skipped) != 1 || len(res.Done) != 0 {
			t.Errorf("%+v", res)
		}
		equal(t, "sandbox", r.box(t), seen)
		equal(t, "host", r.host(t), before)
	})
}

// The host has out -> somewhere; the sandbox made a directory of that name.
func TestNoWriteGoesThroughALink(t *testing.T) {
	story(t, "mkdir target; echo safe > target/passwd; mkdir out; echo host > out/passwd", func(t *testing.T, r *rig) {
		r.Sh(t, "echo evil > out/passwd; echo evil > out/new")
		sel := r.scan(t)
		r.ShHost(t, "rm -r out; ln -s target out")
		before := r.host(t)
		if _, err := r.accept(sel); fault.ExitCode(err) != 4 {
			t.Errorf("accept of what was scanned before: %v", err)
		}
		sel = r.scan(t, "out/new")
		if _, err := r.accept(sel); err == nil {
			t.Error("accept below a link")
		}
		equal(t, "host", r.host(t), before)
		// Chosen whole, the link goes and the directory comes; its target stays.
		_, err := r.accept(r.scan(t))
		if err != nil && fault.ExitCode(err) != 4 { // newer than the copy-up
			t.Error(err)
		}
		if read(t, r.H("target/passwd")) != "safe\n" {
			t.Error("the target of the link was written")
		}
		must(t, r.Sync())
	})
}

// The sandbox replaces a link to a directory by a directory.
func TestTheTargetOfALinkStays(t *testing.T) {
	story(t, "mkdir target; echo safe > target/f; echo safe > target/g; ln -s target d", func(t *testing.T, r *rig) {
		before := r.host(t)
		r.Sh(t, "rm d; mkdir d; echo new > d/f")
		roundTrip(t, r, before)
		_, err := r.accept(r.scan(t))
		must(t, err)
		if read(t, r.H("target/f")) != "safe\n" || read(t, r.H("target/g")) != "safe\n" || read(t, r.H("d/f")) != "new\n" {
			t.Error(r.host(t))
		}
	})
}

// A symlink that is swapped in while an accept runs leads no write out.
func TestADirectoryThatTurnsIntoALinkMeanwhile(t *testing.T) {
	outside := t.TempDir()
	must(t, os.Chmod(outside, 0o777)) //nolint:gosec // the case
	story(t, "mkdir d real; ln -s "+outside+" link", func(t *testing.T, r *rig) {
		r.Sh(t, "for i in $(seq 60); do echo $i > d/$i; done")
		stop := make(chan bool)
		ended := make(chan bool)
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.Command("mv", "-T", "--exchange", r.H("d"), r.H("link")).Run()
					_ = os.Rename(r.H("d"), r.H("x"))
					_ = os.Rename(r.H("link"), r.H("d"))
					_ = os.Rename(r.H("x"), r.H("link"))
				}
			}
		}()
		for range 20 {
			sel := r.scan(t, "d")
			_, _ = r.accept(sel)
		}
		close(stop)
		<-ended
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("%d entries outside", len(left))
		}
		_ = os.RemoveAll(r.H("d"))
		_ = os.RemoveAll(r.H("link"))
		must(t, r.Sync())
	})
}

// What a running program does in an accepted directory is a change like any other.
func TestTheSandboxGoesOnAfterAccept(t *testing.T) {
	story(t, "echo one > f", func(t *testing.T, r *rig) {
		r.Sh(t, "mkdir -p d/e; echo 1 > d/e/a; echo 2 > d/b; echo two > f")
		// A program works in the directory, so the kernel goes on to take it for
		// one that the host has not.
		in, err := os.Open(r.M("d/e"))
		must(t, err)
		top, err := os.Open(r.M("d"))
		must(t, err)
		_, err = r.accept(r.scan(t))
		must(t, err)
		r.Sh(t, "rm d/e/a; rm d/b; echo three > d/c; echo three > f")
		must(t, in.Close())
		must(t, top.Close())
		must(t, r.Sync())
		r.Sh(t, "test ! -e d/e/a; test ! -e d/b; test -e d/c")
		rows := r.rows(t)
		if strings.Contains(rows, "!") || strings.Count(rows, "\n") != 4 {
			t.Errorf("rows:\n%s", rows)
		}
		_, err = r.accept(r.scan(t))
		must(t, err)
		equal(t, "host and sandbox", r.host(t), r.box(t))
		for range 2 {
			_, err = r.undo()
			must(t, err)
		}
		if got := r.host(t); !strings.HasPrefix(got, `"/f"`) || strings.Count(got, "\n") != 1 || read(t, r.H("f")) != "one\n" {
			t.Errorf("after two undos: %s", got)
		}
	})
}

func TestAcceptWhileAProgramWrites(t *testing.T) {
	story(t, "", func(t *testing.T, r *rig) {
		r.Sh(t, ": > log")
		cmd := exec.Command("/bin/sh", "-c", "i=0; while :; do echo $i; i=$((i+1)); done >> log")
		cmd.Dir = r.M("")
		must(t, cmd.Start())
		for range 5 {
			res, err := r.accept(r.scan(t))
			if err != nil { // no decision was bound to what it writes
				t.Errorf("%+v %v", res, err)
			}
		}
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		must(t, r.Sync())
		if sel := r.scan(t); len(sel) > 0 { // the later lines are a change
			_, err := r.accept(sel)
			must(t, err)
		}
		if read(t, r.H("log")) != read(t, r.M("log")) {
			t.Error("lines are missing on the host")
		}
	})
}

func TestWhatIsNeverTaken(t *testing.T) {
	story(t, "echo x > tool; mkdir d", func(t *testing.T, r *rig) {
		r.Sh(t, "chmod 4755 tool; echo x > new; chmod 6755 new; mkdir d/in; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'; echo y > plain")
		res, err := r.accept(r.scan(t))
		must(t, err)
		for name, want := range map[string]os.FileMode{"tool": 0o755, "new": 0o755} {
			if st, err := os.Stat(r.H(name)); err != nil || st.Mode() != want {
				t.Errorf("%s: %v %v", name, st.Mode(), err)
			}
		}
		if _, err := os.Lstat(r.H("s")); err == nil {
			t.Error("a socket was copied")
		}
		if len(res.Skipped) != 3 {
			t.Errorf("skipped: %v", res.Skipped)
		}
		if read(t, r.H("plain")) != "y\n" {
			t.Error("the rest is missing")
		}
		for _, path := range []string{r.Storage + "/upper/x", r.Storage, strings.TrimSuffix(r.Host, "/host")} {
			sel := r.scan(t, "tool")
			sel[0].Change.Path = path
			sel[0].Change.Kind = "deleted"
			sel[0].Change.Host = entry.Entry{}
			sel[0].Change.Sandbox = entry.Entry{}
			if _, err := r.accept(sel); err == nil {
				t.Errorf("accepted %s", path)
			}
		}
	})
}
