package run

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/launch"
	"sandbox/engine/store"
	"sandbox/internal/testuser"
)

// A client that is killed at any moment of a start costs the next command
// nothing, and stop ends whatever it has left.
func TestKilledStarts(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.sh("echo > count")
		for round := range 15 {
			if err := launch.Stop(b.dir()); err != nil {
				t.Fatal(err)
			}
			c := b.command("sh", "-c", "echo x >> count; exec sleep 100")
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rand.IntN(40000)) * time.Microsecond) //nolint:gosec // no secret
			_ = c.Process.Kill()
			_ = c.Wait()
			if round%2 == 0 {
				if out, errs, code := b.run("echo", "works"); code != 0 || out != "works\n" {
					t.Fatalf("round %d: the next command: exit %d %q %s", round, code, out, errs)
				}
				continue
			}
			if err := launch.Stop(b.dir()); err != nil {
				t.Fatal(err)
			}
			if store.Held(b.dir().Path(store.LockFile)) {
				t.Fatalf("round %d: the sandbox is up after a stop", round)
			}
		}
		b.sh("sleep 0.2") // a keeper that has time clears up
		if err := launch.Stop(b.dir()); err != nil {
			t.Fatal(err)
		}
		b.keeperGone()
		for _, pattern := range []string{"work.*", "*.tmp-*"} {
			if left, _ := filepath.Glob(b.dir().Path(pattern)); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		}
	})
}

// Starts and stops of one sandbox at the same time: each command runs, or is
// ended by a stop; none fails because of the other.
func TestStopsDuringStarts(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rand.IntN(30)) * time.Millisecond): //nolint:gosec // no secret
				}
				if err := launch.Stop(b.dir()); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Error(err)
				}
			}
		}()
		for i := range 12 {
			out, errs, code := b.run("echo", "works")
			endedByStop := code == 143 || code == 137 || code == 125 && strings.Contains(errs, "its init ended")
			if (code != 0 || out != "works\n") && !endedByStop {
				t.Errorf("command %d: exit %d %q %s", i, code, out, errs)
			}
		}
		close(stop)
		<-stopped
	})
}

// An init that does not answer is killed.
func TestStopEndsAnInitThatHangs(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.sh("sleep 60 >/dev/null 2>&1 &")
		pid, _, _ := strings.Cut(b.content(b.dir().Path(store.PidFile)), " ")
		n, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(n, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		if err := launch.Stop(b.dir()); err != nil {
			t.Fatal(err)
		}
		if got := b.sh("echo again"); got != "again" {
			t.Errorf("got %q", got)
		}
	})
}
