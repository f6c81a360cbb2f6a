package recovery

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sandbox/internal/testlong"
	"sandbox/internal/testuser"
)

// prepare fills the project with files and lets the sandbox change, add, delete
// and move some: about n changes.
func (w *world) prepare(n int) {
	w.Helper()
	w.host(fmt.Sprintf(`
		for d in $(seq %d); do mkdir -p d$d/sub
			for i in $(seq 20); do echo "$d $i" > d$d/f$i; echo "$d $i" > d$d/sub/g$i; done
		done
		mkdir -p gone/deep moving; echo 1 > gone/deep/1; echo m > moving/m; ln -s nowhere gone/l; echo k > kind; ln -s x link
		find . -type f -exec touch -d 2001-02-03 {} +`, n/40))
	w.do("sh", "-ec", fmt.Sprintf(`
		for d in $(seq %d); do
			for i in $(seq 10); do echo changed > d$d/f$i; rm d$d/sub/g$i; done
			chmod 600 d$d/f11; mkdir -p new/n$d; for i in $(seq 20); do echo new > new/n$d/f$i; done
		done
		rm -r gone; mv moving moved || { cp -a moving moved; rm -r moving; }; rm kind; mkdir kind; echo in > kind/f; ln -sfn y link`, n/40))
}

// timed gives how long a command takes.
func (w *world) timed(args ...string) time.Duration {
	w.Helper()
	start := time.Now()
	w.do(args...)
	return time.Since(start)
}

// undoAll takes back until there is nothing left.
func (w *world) undoAll() {
	w.Helper()
	for {
		code, out := w.sandbox("undo")
		if code == 3 {
			return
		}
		if code != 0 {
			w.Fatalf("undo: exit %d\n%s", code, out)
		}
	}
}

// moments are times at which a command is killed, the first and last parts of
// it included.
func moments(all time.Duration, n int) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = all * time.Duration(i) / time.Duration(n)
		list[i] += time.Duration(rand.Int64N(int64(all)/int64(n) + 1))
	}
	return list
}

// killStory runs body with a sandbox that runs, and with one that is stopped.
func killStory(t *testing.T, files int, body func(w *world, down func())) {
	t.Helper()
	testuser.Both(t, func(t *testing.T) {
		for _, state := range []string{"running", "stopped"} {
			t.Run(state, func(t *testing.T) {
				w := newWorld(t)
				w.prepare(files)
				down := func() {
					if state == "stopped" {
						w.do("stop")
					}
				}
				down()
				body(w, down)
				w.do("delete", "-y")
				w.host("chmod -R u+rwx . ; rm -r " + w.dir)
			})
		}
	})
}

func TestAcceptAndUndoAreKilled(t *testing.T) {
	killStory(t, testlong.Pick(240, 10_000), func(w *world, _ func()) {
		before := w.tree(w.dir)
		took := w.timed("accept")
		after := w.tree(w.dir)
		w.undoAll()
		w.equal("after undo", w.tree(w.dir), before)
		interrupted := 0
		for _, at := range moments(took*11/10, testlong.Pick(3, 40)) {
			// An undo may tell a renamed directory otherwise than before.
			status := w.do("status")
			w.killed(at, "accept")
			now := w.do("status")
			if strings.Contains(now, "was cut short") {
				interrupted++
			}
			tree := w.tree(w.dir)
			if !maps.Equal(tree, after) {
				w.equal("after a kill", tree, before)
				if s := afterNotes(now); s != status {
					w.Fatalf("status was\n%s\nand is\n%s", status, s)
				}
				continue
			}
			took := took
			for _, at := range moments(took, 2) {
				w.killed(at, "undo")
				w.do("status")
			}
			w.undoAll()
			w.equal("after undo was killed", w.tree(w.dir), before)
		}
		w.Logf("%d accepts had begun when they were killed", interrupted)
		w.do("accept")
		w.equal("after all", w.tree(w.dir), after)
	})
}

func TestRejectIsKilled(t *testing.T) {
	killStory(t, testlong.Pick(80, 2000), func(w *world, down func()) {
		before := w.tree(w.dir)
		inside := func() string {
			defer down()
			return w.do("sh", "-ec", "find . -name '.sandbox-tmp-*' | grep . && exit 1; find . ! -type d -printf '%P %m %l\n' | sort; find . -type f | sort | xargs md5sum")
		}
		seen := inside()
		took := w.timed("reject")
		rejected := inside()
		w.undoAll()
		if now := inside(); now != seen {
			w.Fatalf("undo of a reject: the sandbox has\n%s\nand had\n%s", now, seen)
		}
		for _, at := range moments(took*11/10, testlong.Pick(2, 20)) {
			w.killed(at, "reject")
			w.do("status")
			now := inside()
			if now == rejected {
				w.undoAll()
				now = inside()
			}
			if now != seen {
				w.Fatalf("killed after %v: the sandbox has\n%s\nand had\n%s", at, now, seen)
			}
			w.equal("the host", w.tree(w.dir), before)
		}
	})
}

// afterNotes leaves out what a command said about recovering.
func afterNotes(out string) string {
	var kept strings.Builder
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "sandbox: ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
