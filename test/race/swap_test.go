package race

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine"
	"sandbox/engine/apply"
	"sandbox/internal/testlong"
	"sandbox/internal/testuser"
)

// swaps is how often each side exchanges a directory for a symlink, at least,
// and decisions how many rounds of accept, reject and undo there are.
var swaps, decisions = testlong.Pick(100_000, 2_000_000), testlong.Pick(60, 2000)

// The interior directories that are exchanged, below the project. Each name has
// a neighbour NAME.link, a symlink into a tree that nobody selected.
var (
	onHost = []string{"in/dir", "in/dir/deep", "fresh/dir"}
	inView = []string{"made/dir", "made/dir/deep", "fresh/dir"}
)

// Where the links lead. They are two, because a pattern that is given through a
// link of the host means the place it leads to: what the program inside writes
// through its own links must not be there.
const (
	outsideHost = "outside-host"
	outsideView = "outside-view"
)

// Whatever is exchanged for a link while an accept, a reject or an undo is under
// way: only what was selected changes.
func TestInteriorDirectoriesThatBecomeLinks(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t)
		w.lay()
		before := fingerprint(t, w.at(outsideHost), w.at(outsideView), w.at("p/other"))

		self, err := os.Executable()
		must(t, err)
		hold, release, err := os.Pipe()
		must(t, err)
		defer hold.Close()
		var inside sync.WaitGroup
		var said string
		var saidErr error
		t.Setenv(insideVar, w.at("p"))
		inside.Go(func() { said, saidErr = w.run(hold, self) })

		var stop atomic.Bool
		var host sync.WaitGroup
		var count atomic.Int64
		host.Go(func() {
			for i := 0; !stop.Load() || count.Load() < int64(swaps); i++ {
				count.Add(int64(flip(filepath.Join(w.at("p"), onHost[i%len(onHost)]), i%97)))
			}
		})

		done, refused := w.decide()
		stop.Store(true)
		host.Wait()
		must(t, release.Close())
		inside.Wait()
		must(t, saidErr)
		times, err := strconv.Atoi(strings.TrimSpace(said))
		must(t, err)
		t.Logf("%d swaps on the host, %d inside; %d decisions done, %d refused", count.Load(), times, done, refused)
		if times < swaps || count.Load() < int64(swaps) {
			t.Errorf("only %d swaps inside and %d on the host", times, count.Load())
		}
		if done == 0 || refused == 0 {
			t.Errorf("%d decisions done, %d refused: nothing was raced", done, refused)
		}
		for _, change := range compare(before, fingerprint(t, w.at(outsideHost), w.at(outsideView), w.at("p/other"))) {
			t.Error(change)
		}
		w.noTemporaries()
	})
}

// lay makes the project, and a tree outside with the same names below it.
func (w world) lay() {
	for i := range 4 {
		name := fmt.Sprintf("f%d", i)
		for _, dir := range []string{"p/in/dir/", "p/in/dir/deep/", "p/other/", "outside-host/", "outside-host/deep/", "outside-view/", "outside-view/deep/"} {
			w.write(dir+name, "of "+dir+"\n")
		}
	}
	w.write("p/fresh/dir/keep", "keep\n")
	w.write("p/made/keep", "keep\n")
	for _, dir := range onHost {
		must(w, os.Symlink(w.at(outsideHost), w.at("p/"+dir+".link")))
	}
}

// decide accepts, rejects and undoes while the swaps go on, and counts the rows
// that were done and the calls that were refused.
func (w world) decide() (done, refused int) {
	script := `n=$1; shift; for f; do echo "agent $n" > "$f"; done 2>/dev/null; :`
	patterns := [][]string{{"in/dir/f0"}, {"made/dir/f1"}, {"in"}, {"made/dir"}, {"fresh/dir/f2"}, {"in/dir/deep", "made"}, {"in/dir/f3", "fresh"}}
	for i := range decisions {
		if i%3 == 0 { // new content, so that there is something to take
			args := []string{"sh", "-c", script, "sh", strconv.Itoa(i)}
			for _, dir := range []string{"in/dir", "in/dir/deep", "made/dir", "made/dir/deep", "fresh/dir"} {
				for k := range 4 {
					args = append(args, fmt.Sprintf("%s/%s/f%d", w.at("p"), dir, k))
				}
			}
			_, err := w.run(nil, args...)
			must(w, err)
		}
		opts := engine.DecideOptions{
			Query:         engine.Query{Dir: w.at("p"), Patterns: patterns[i%len(patterns)]},
			SkipConflicts: i%2 == 0,
		}
		accept := func() (apply.Result, error) { return w.engine.Accept(w.Context(), "s", opts) }
		reject := func() (apply.Result, error) { return w.engine.Reject(w.Context(), "s", opts) }
		undo := func() (apply.Result, error) { return w.engine.Undo(w.Context(), "s", "") }
		for _, call := range [][]func() (apply.Result, error){{accept}, {accept, undo}, {accept}, {reject}, {accept, reject}}[i%5] {
			result, err := call()
			done += len(result.Done)
			if err != nil {
				refused++
			}
		}
	}
	return done, refused
}

// flip makes a directory a link and, at once, a directory again, and waits a
// while that differs from time to time: else a decision would hardly ever find
// the directory at its beginning and at its end. It counts the swaps.
func flip(path string, pause int) (count int) {
	for range 2 {
		if swap(path) == nil {
			count++
		}
	}
	for begin := time.Now(); time.Since(begin) < time.Duration(pause)*time.Microsecond; {
	}
	return count
}

// swap exchanges a directory and the link beside it, in one step.
func swap(path string) error {
	return unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, path+".link", unix.RENAME_EXCHANGE)
}

// swapInside is the program in the sandbox. It goes on until its input ends, and
// then prints how often it swapped.
func swapInside(project string) int {
	for _, dir := range inView {
		path := filepath.Join(project, dir)
		if err := os.RemoveAll(path); err != nil { // the host's is no whole upper directory, which the kernel would not rename
			fmt.Println(err)
			return 1
		}
		if err := os.MkdirAll(path, 0o755); err != nil {
			fmt.Println(err)
			return 1
		}
		if _, err := os.Lstat(path + ".link"); err != nil {
			if err := os.Symlink(filepath.Join(filepath.Dir(project), outsideView), path+".link"); err != nil {
				fmt.Println(err)
				return 1
			}
		}
	}
	var ended atomic.Bool
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		ended.Store(true)
	}()
	count := 0
	for i := 0; !ended.Load() || (count < swaps && i < 20*swaps); i++ {
		count += flip(filepath.Join(project, inView[i%len(inView)]), i%89)
	}
	fmt.Println(count)
	return 0
}
