package run

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"sandbox/internal/testuser"
)

// screen is an interactive bash in a terminal, as a person has it: the client
// is a job of that shell.
type screen struct {
	t   *testing.T
	tty *os.File

	mu  sync.Mutex // protects out
	out bytes.Buffer
}

func newScreen(b *box) *screen {
	b.t.Helper()
	c := exec.Command("bash", "--norc", "--noprofile", "-i")
	c.Dir = b.home
	c.Env = append(os.Environ(), "PS1=PROMPT ", "TERM=dumb", "HISTFILE=")
	tty, err := pty.StartWithSize(c, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	s := &screen{t: b.t, tty: tty}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.out.Write(buf[:n])
			s.mu.Unlock()
		}
	}()
	b.t.Cleanup(func() {
		_ = tty.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	s.wait("PROMPT ")
	s.keys(fmt.Sprintf("box() { ( exec -a client %s %s box \"$@\" ); }\n", self, b.storage))
	s.wait("PROMPT ")
	return s
}

func (s *screen) keys(k string) {
	if _, err := s.tty.WriteString(k); err != nil {
		s.t.Fatal(err)
	}
}

// wait waits until what was written since the last wait holds text, and
// returns and forgets it.
func (s *screen) wait(text string) string {
	s.t.Helper()
	for end := time.Now().Add(8 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		s.mu.Lock()
		got := s.out.String()
		if i := strings.Index(got, text); i >= 0 {
			s.out.Next(i + len(text))
			s.mu.Unlock()
			return got[:i+len(text)]
		}
		s.mu.Unlock()
		if time.Now().After(end) {
			s.t.Fatalf("waited for %q, the screen has %q", text, got)
		}
	}
}

// say types a line and waits for text that is not in the line itself.
func (s *screen) say(line, text string) string {
	s.t.Helper()
	s.keys(line + "\n")
	return s.wait(text)
}

func TestTerminalIsARealOne(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		s := newScreen(b)
		got := s.say("box sh -c 'tty; stty size; echo E''ND'", "END\r\nPROMPT ")
		if !strings.Contains(got, "/dev/pts/") || !strings.Contains(got, "30 100") {
			t.Errorf("got %q", got)
		}
		s.say("box env PS1=INSIDE bash --norc -i", "\nINSIDE")
		if err := pty.Setsize(s.tty, &pty.Winsize{Rows: 44, Cols: 123}); err != nil {
			t.Fatal(err)
		}
		s.say("sleep 0.2; stty size", "44 123")
		s.say("exit 5", "PROMPT ")
		s.say("echo rc=$?", "rc=5")
	})
}

func TestCtrlC(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		s := newScreen(newBox(t))
		s.say("box sh -c 'echo rea''dy; exec sleep 100'", "ready")
		s.keys("\x03")
		s.wait("PROMPT ")
		s.say("echo rc=$?", "rc=130")
	})
}

// Ctrl-Z stops the job, the shell has its terminal back in its own mode, and fg
// goes on with the same process.
func TestCtrlZAndFg(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		s := newScreen(newBox(t))
		// One process: a shell that is stopped while it starts another with
		// vfork(2) is not stopped before that one is executed, which never is.
		s.say(`box perl -e '$| = 1; print "rea", "dy\n"; select(undef, undef, undef, 0.3); print "wo", "ke\n"; print "go", "t:", scalar <STDIN>'`, "ready")
		s.keys("\x1a")
		s.wait("Stopped")
		if got := s.say("stty -a | tr ';' '\\n' | grep -c -- ' -icanon'; echo mode che''cked", "mode checked"); !strings.Contains(got, "0\r\n") {
			t.Errorf("the shell's terminal is still raw: %q", got)
		}
		s.say("fg", "woke")
		s.say("hello", "got:hello")
		s.wait("PROMPT ")
		s.say("echo rc=$?", "rc=0")
	})
}

// In a pipeline the keys belong to whoever reads them.
func TestPipelineReadsTheTerminalWhenItAsks(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		s := newScreen(newBox(t))
		s.say("box sh -c 'echo rea''dy >&2; read x; echo go''t:$x:' | cat", "ready")
		s.say("hello", "got:hello:")
		s.wait("PROMPT ")
		s.say("box sh -c 'echo rea''dy >&2; sleep 1' | { read -r x </dev/tty; echo oth''er:$x:; }", "ready")
		s.say("mine", "other:mine:")
	})
}

func TestBackgroundJobWritesToTheTerminal(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		s := newScreen(newBox(t))
		s.say("box sh -c 'sleep 0.2; echo b''g' & wait; echo do''ne", "done")
	})
}

// The program inside must not be able to type into the caller's shell.
func TestTIOCSTIIsDenied(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		s := newScreen(newBox(t))
		s.say(`box perl -e 'my $c = "x"; $r = ioctl(STDIN, 0x5412, $c); print defined $r ? "typ"."ed" : "den"."ied: $!", "\n"'`, "denied")
	})
}

func TestSignalsReachTheCommand(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		for sig, code := range map[syscall.Signal]int{unix.SIGTERM: 42, unix.SIGHUP: 41, unix.SIGINT: 40, unix.SIGUSR1: 43} {
			script := "trap 'exit 42' TERM; trap 'exit 41' HUP; trap 'exit 40' INT; trap 'exit 43' USR1; echo ready; while :; do sleep 0.05; done"
			c := b.command("sh", "-c", script)
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 6)); err != nil {
				t.Fatal(err)
			}
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if got := exitOf(t, c.Wait()); got != code {
				t.Errorf("%v: exit %d, want %d", sig, got, code)
			}
		}
	})
}

// A client that is killed hangs up its command, as a closed terminal would.
func TestKilledClientEndsItsCommand(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		c := b.command("sh", "-c", "echo $$ > pid; echo ready; exec sleep 100")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		b.wait("the command to end", func() bool {
			_, _, code := b.run("sh", "-c", "kill -0 $(cat pid)")
			return code != 0
		})
	})
}
