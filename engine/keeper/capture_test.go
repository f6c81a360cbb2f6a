package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/internal/testlong"
	"sandbox/internal/testuser"
)

// hostEdits are what the user does to a file after the sandbox touched it, and
// what a scan says then: of a file that the sandbox changed, and of one that it
// deleted.
var hostEdits = []struct{ name, script, changed, deleted string }{
	{"nothing", ":", "same", "same"},
	{"append", "echo more >> F", "known!", "known!"},
	{"save-by-rename", "echo other > F.new; mv F.new F", "known!", "known!"},
	{"older-moved-over", "mv F.older F", "known!", "known!"},
	{"same-size-and-time", "touch -r F F.time; printf 'BASE\\n' > F; touch -r F.time F; rm F.time", "known!", "known!"},
	{"delete", "rm F", "known!", ""},
	{"touch", "touch F", "same", "same"},
	{"chmod", "chmod 600 F", "known!", "same"}, // both sides changed it; whoever merges them finds no conflict
	{"hard-link", "ln F F.link", "same", "same"},
	{"same-again", "cp F F.new; mv F.new F", "same", "same"},
	{"there-and-back", "echo x >> F; printf 'base\\n' > F", "same", "same"},
}

func TestHostEditsAfterTheSandboxTouchedAFile(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWatched(t, func(host string) {
			write(t, host+"/first", "x\n")
			for _, e := range hostEdits {
				for _, what := range []string{"changed-", "deleted-"} {
					write(t, host+"/"+what+e.name, "base\n")
					write(t, host+"/"+what+e.name+".older", "older\n")
				}
			}
		})
		w.start()
		// One node stands for all whiteouts, with the time of the first.
		w.Sh(t, "rm first")
		for _, e := range hostEdits {
			w.Sh(t, "echo inside >> changed-"+e.name+"; rm deleted-"+e.name)
		}
		w.barrier()
		for _, e := range hostEdits {
			w.want("changed-"+e.name, "same")
			w.want("deleted-"+e.name, "same")
			for _, what := range []string{"changed-", "deleted-"} {
				w.ShHost(t, strings.ReplaceAll(e.script, "F", what+e.name))
			}
		}
		for _, e := range hostEdits {
			w.want("changed-"+e.name, e.changed)
			w.want("deleted-"+e.name, e.deleted)
			if got := w.base("changed-" + e.name); got != "base\n" {
				t.Errorf("base of %s: %q", e.name, got)
			}
		}
	})
}

// A user who edits a file, and then has it deleted inside, knew what he did.
func TestAnEditBeforeTheDeletionIsNoConflict(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWatched(t, func(host string) { write(t, host+"/first", "x\n"); write(t, host+"/f", "base\n") })
		w.start()
		w.Sh(t, "rm first")
		w.barrier()
		w.ShHost(t, "echo more >> f")
		tick()
		must(t, w.Sync())
		w.Sh(t, "rm f")
		w.barrier()
		w.want("f", "same")
		w.ShHost(t, "echo again >> f")
		w.want("f", "known!")
	})
}

// tick waits until the clock of file systems has moved on.
func tick() { time.Sleep(12 * time.Millisecond) }

// Programs write files anew and put them in the place of the old: the base
// stays what the host had at the first time, whatever the user does meanwhile.
func TestTheBaseIsOfTheFirstTime(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWatched(t, func(host string) {
			for _, name := range []string{"renamed", "removed", "d/hidden", "moved/f"} {
				must(t, os.MkdirAll(filepath.Dir(host+"/"+name), 0o755)) //nolint:gosec // a directory like others
				write(t, host+"/"+name, "base\n")
			}
		})
		w.start()
		w.Sh(t, "echo 1 > renamed; rm removed; echo 1 > removed; rm -r d; mkdir d; echo 1 > d/hidden")
		w.barrier()
		for _, name := range []string{"renamed", "removed", "d/hidden"} {
			if got := w.base(name); got != "base\n" {
				t.Errorf("base of %s: %q", name, got)
			}
		}
		w.ShHost(t, "echo user >> renamed; echo user >> removed; echo user >> d/hidden")
		tick()
		w.Sh(t, "echo 2 > n; mv n renamed; rm removed; echo 2 > removed; rm d/hidden; echo 2 > d/hidden")
		w.barrier()
		for _, name := range []string{"renamed", "removed", "d/hidden"} {
			w.want(name, "known!")
		}
	})
}

// The kernel keeps what was looked up: a program that read a file before the
// user saved another in its place changes the old one, which looks newer.
func TestAVersionThatTheSandboxDidNotSee(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWatched(t, func(host string) {
			for _, name := range []string{"stale", "synced", "in-place"} {
				write(t, host+"/"+name, "base\n")
			}
		})
		w.start()
		tick()
		w.ShHost(t, "for f in stale synced; do echo user > n; cat $f >> n; mv n $f; done; echo user >> in-place")
		tick()
		old, err := os.ReadFile(w.M("in-place"))
		must(t, err)
		write(t, w.M("stale"), "base\ninside\n") // made from what was there before
		write(t, w.M("in-place"), string(old)+"inside\n")
		w.barrier()
		w.want("stale", "unknown!")
		w.want("in-place", "same")
		now := time.Now()
		must(t, w.Sync())
		base.Synced(w.dir, now, w.H("synced"))
		w.Sh(t, "echo inside >> synced")
		w.barrier()
		w.want("synced", "same")
		if got := w.base("synced"); got != "user\nbase\n" {
			t.Errorf("base: %q", got)
		}
	})
}

// What is below a directory that the kernel renamed is the host's under
// another name (mode P; in mode U mv copies).
func TestBelowARenamedDirectory(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWatched(t, func(host string) {
			must(t, os.MkdirAll(host+"/old/sub", 0o755)) //nolint:gosec // a directory like others
			write(t, host+"/old/sub/f", "base\n")
		})
		w.start()
		w.Sh(t, "mv old new; echo 1 >> new/sub/f")
		w.barrier()
		w.ShHost(t, "echo user >> old/sub/f; touch old/sub")
		if os.Getuid() == 0 {
			if got := w.base("old/sub/f"); got != "base\n" {
				t.Errorf("base: %q", got)
			}
			w.want("new/sub/f", "known!")
			return
		}
		// The copies and whiteouts below it were gone before they could be seen.
		if c := w.changes()["old/sub/f"]; !c.Conflict {
			t.Errorf("the user's edit in a moved directory: %+v", c)
		}
	})
}

// A keeper that was killed has missed what happened until the next one came.
func TestAfterAKilledKeeper(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWatched(t, func(host string) {
			for _, name := range []string{"before", "edited", "replaced", "late", "gone", "other"} {
				write(t, host+"/"+name, "base\n")
			}
		})
		w.start()
		w.Sh(t, "echo 1 >> before")
		w.barrier()
		w.kill()
		w.Sh(t, "echo 1 >> edited; echo 1 > n; mv n replaced; rm gone; rm other")
		tick()
		w.ShHost(t, "echo user >> before; echo user >> replaced; echo user >> late; echo user >> gone")
		tick()
		w.Sh(t, "echo 2 > n; mv n replaced; echo 1 >> late")
		w.start()
		w.want("before", "known!")
		w.want("edited", "same")
		// Nobody saw whether the program knew the user's edit.
		w.want("replaced", "unknown!")
		w.want("late", "same")
		w.want("gone", "unknown!")
		w.want("other", "same")
		if got := w.base("edited"); got != "base\n" {
			t.Errorf("base of what happened meanwhile: %q", got)
		}
		w.ShHost(t, "echo user >> edited; echo user >> other")
		w.want("edited", "known!")
		w.want("other", "known!")
	})
}

// What is the host's again gets a new base the next time.
func TestWhatIsTheHostsAgain(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWatched(t, func(host string) { write(t, host+"/f", "base\n"); write(t, host+"/g", "base\n") })
		w.start()
		w.Sh(t, "echo 1 >> f; echo 1 >> g")
		w.barrier()
		w.stop()
		w.Unmount()
		must(t, os.Remove(w.U("f"))) // as a prune does it, with the sandbox down
		w.Mount(t)
		write(t, w.H("f"), "new base\n")
		tick()
		w.start()
		if got := w.base("f"); got != "no record" {
			t.Errorf("base: %q", got)
		}
		w.Sh(t, "echo 1 >> f")
		w.barrier()
		if got := w.base("f"); got != "new base\n" {
			t.Errorf("base: %q", got)
		}
		if got := w.base("g"); got != "base\n" {
			t.Errorf("base of what stayed: %q", got)
		}
	})
}

// When the kernel drops events, everything is looked at again.
func TestOverflow(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWatched(t, func(host string) { write(t, host+"/f", "base\n"); write(t, host+"/d", "base\n") })
		w.prepare()
		limit := 0
		text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
		must(t, err)
		_, err = fmt.Sscan(string(text), &limit)
		must(t, err)
		write(t, w.M("a"), "")
		for range limit/4 + 1 { // a rename is two events
			must(t, os.Rename(w.M("a"), w.M("b")))
			must(t, os.Rename(w.M("b"), w.M("a")))
		}
		w.Sh(t, "echo 1 >> f; rm d; mkdir new; echo 1 > new/n")
		if err := lost(w.k.watcher.fd); err != nil {
			t.Fatal(err)
		}
		w.serve()
		w.barrier()
		if got := w.base("f"); got != "base\n" {
			t.Errorf("base: %q", got)
		}
		w.want("d", "same")
		w.ShHost(t, "echo user >> f; echo user >> d")
		w.want("f", "known!")
		w.want("d", "known!")
	})
}

// lost checks that the queue is as full as it gets.
func lost(fd int) error {
	n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
	if err == nil && n < 16*4096 {
		err = errors.New("the queue is not full")
	}
	return err
}

func TestManyCopyUpsAtOnce(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		files := testlong.Pick(500, 5000)
		name := func(i int) string { return fmt.Sprintf("d%d/f%d", i%50, i) }
		w := newWatched(t, func(host string) {
			for i := range files {
				if i < 50 {
					must(t, os.Mkdir(fmt.Sprintf("%s/d%d", host, i), 0o755)) //nolint:gosec // a directory like others
				}
				write(t, host+"/"+name(i), fmt.Sprintf("base %d\n", i))
			}
		})
		w.start()
		start := time.Now()
		for i := range files {
			f, err := os.OpenFile(w.M(name(i)), os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = f.WriteString("inside\n")
			must(t, err)
			must(t, f.Close())
		}
		wrote := time.Since(start)
		w.barrier()
		t.Logf("%d copy-ups in %v, all recorded %v later", files, wrote, time.Since(start)-wrote)
		set := w.bases()
		for i := range files {
			r, ok := set.Get(w.H(name(i)))
			if data, kept := set.Content(r); !ok || !kept || string(data) != fmt.Sprintf("base %d\n", i) {
				t.Fatalf("%s: %v %v %q", name(i), ok, kept, data)
			}
		}
	})
}

// A program can neither write what we would take for our own attributes nor
// reach the directory of bases, and names of its own mean nothing.
func TestForging(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWatched(t, func(host string) { write(t, host+"/f", "base\n"); must(t, os.Mkdir(host+"/d", 0o755)) }) //nolint:gosec // a directory like others
		write(t, w.H("d/g"), "base\n")
		w.start()
		w.Sh(t, "echo 1 >> f; echo 1 >> d/g; mkdir base base/barrier; echo x > base/barrier/0011223344556677; mkdir .~rename-1; echo x > .~rename-1/f")
		far := fmt.Appendf(nil, "0+%s", "zzzzzzzzzz")
		for _, name := range []string{"user.overlay.sandbox.accepted", "user.overlay.opaque", "user.overlay.origin", "user.overlay.redirect"} {
			for _, path := range []string{"f", "d", "d/g"} {
				// Older kernels refuse these; newer ones store them under another name.
				_ = unix.Setxattr(w.M(path), name, far, 0)
			}
		}
		w.barrier()
		w.ShHost(t, "echo user >> f; echo user >> d/g")
		w.want("f", "known!")
		w.want("d/g", "known!")
		if got := w.base("f"); got != "base\n" {
			t.Errorf("base: %q", got)
		}
	})
}
