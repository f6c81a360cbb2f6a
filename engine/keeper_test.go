package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/base"
	"sandbox/engine/launch"
	"sandbox/engine/store"
	"sandbox/internal/testlong"
	"sandbox/internal/testuser"
)

// keeper waits for the sandbox's keeper and returns its process id.
func (w world) keeper() int {
	w.Helper()
	dir := store.At(w.engine.Storage, "s")
	want := strings.Join([]string{launch.KeeperName, dir.Storage, dir.Name}, "\x00") + "\x00"
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if !store.Held(dir.Path(launch.KeeperLock)) {
			continue
		}
		procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			w.Fatal(err)
		}
		for _, path := range procs {
			if b, err := os.ReadFile(path); err == nil && bytes.HasPrefix(b, []byte(want)) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				return pid
			}
		}
	}
	w.Fatal("there is no keeper")
	return 0
}

// captured is the base of a file of the project, once the keeper has written it.
func (w world) captured(name string) string {
	w.Helper()
	dir := store.At(w.engine.Storage, "s").Path(base.Dir)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		set, err := base.Load(dir)
		if err != nil {
			w.Fatal(err)
		}
		if r, ok := set.Get(w.path(name)); ok {
			data, _ := set.Content(r)
			return string(data)
		}
	}
	return "no record"
}

func TestAKilledKeeperIsStartedByTheNextCommand(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"a": "a\n", "b": "b\n", "c": "c\n"})
		w.run("echo 1 >> a")
		first := w.keeper()
		if got := w.captured("a"); got != "a\n" {
			t.Errorf("base of a: %q", got)
		}
		if err := unix.Kill(first, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(10 * time.Second); store.Held(store.At(w.engine.Storage, "s").Path(launch.KeeperLock)); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the keeper lives on")
			}
		}
		w.run("echo 1 >> b")
		if second := w.keeper(); second == first {
			t.Error("no keeper was started")
		}
		w.run("echo 1 >> c")
		for _, name := range []string{"a", "b", "c"} {
			if got := w.captured(name); got != name+"\n" {
				t.Errorf("base of %s: %q", name, got)
			}
		}
	})
}

// The last thing before a stop is recorded too, also by a keeper that has only
// just begun.
func TestStopRightAfterAWrite(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"a": "a\n", "b": "b\n"})
		w.run("echo 1 >> a")
		w.keeper()
		w.run("echo 1 >> b")
		if err := w.engine.Stop(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "b"} {
			if got := w.captured(name); got != name+"\n" {
				t.Errorf("base of %s: %q", name, got)
			}
		}
	})
}

// Many files at once, faster than the keeper: none is missed, and who looks
// waits for the keeper.
func TestManyCopyUpsAreAllRecorded(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		files := testlong.Pick(1500, 40_000)
		all := make(map[string]string, files)
		for i := range files {
			all[fmt.Sprintf("d%d/f%d", i%50, i)] = fmt.Sprintf("base %d\n", i)
		}
		w := newWorld(t, all)
		w.run("true")
		w.keeper()
		start := time.Now()
		w.run(`for d in d*; do for f in $d/*; do echo inside >> $f; done; done`)
		wrote := time.Since(start)
		b, err := w.engine.open("s")
		if err != nil {
			t.Fatal(err)
		}
		b.bases()
		t.Logf("%d files changed in %v, all recorded %v later", files, wrote, time.Since(start)-wrote)
		for name, text := range all {
			r, ok := b.tree.Base.Get(w.path(name))
			if data, kept := b.tree.Base.Content(r); !ok || !kept || string(data) != text {
				t.Fatalf("%s: %v %v %q", name, ok, kept, data)
			}
		}
	})
}

// Nothing happens, or only to files that are copied up already: then the
// keeper sleeps.
func TestAnIdleKeeperCostsNothing(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"a": "a\n"})
		w.run("echo 1 >> a")
		pid := w.keeper()
		w.captured("a")
		ran := func() (all string) {
			threads, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
			if err != nil || len(threads) == 0 {
				t.Fatal("the keeper is gone", err)
			}
			for _, path := range threads {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				all += strings.Fields(string(b))[0] + " "
			}
			return all
		}
		slept := func() bool {
			in, out := newPipe(t), newPipe(t)
			ended := make(chan error, 1)
			go func() {
				_, err := w.engine.Run(t.Context(), RunOptions{
					Name: "s", Dir: w.dir, Env: os.Environ(), Stdin: in[0], Stdout: out[1], Stderr: out[1],
					Argv: []string{"/bin/sh", "-ec", "echo ready; read x; i=0; while [ $i -lt 2000 ]; do echo 1 >> a; i=$((i+1)); done; echo done; read x"},
				})
				ended <- err
			}()
			read := func() {
				if _, err := out[0].Read(make([]byte, 64)); err != nil {
					t.Fatal(err)
				}
			}
			read() // the start of a command wakes the keeper, once
			before := ran()
			_, _ = in[1].WriteString("go\n")
			read()
			after := ran()
			_, _ = in[1].WriteString("go\n")
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			return after == before
		}
		// It may still be getting done with what woke it.
		for end := time.Now().Add(10 * time.Second); !slept(); {
			if time.Now().After(end) {
				t.Fatal("the keeper wakes up for writes to what is copied up")
			}
		}
	})
}

func newPipe(t *testing.T) [2]*os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return [2]*os.File{r, w}
}
