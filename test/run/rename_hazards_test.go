package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/store"
	"sandbox/internal/testlong"
	"sandbox/internal/testuser"
)

// many makes a directory with n files, 100 in each subdirectory.
func (b *box) many(dir string, n int) {
	b.t.Helper()
	hostShell(b.t, b.home, fmt.Sprintf(`python3 -c '
import os
for i in range(%d):
    d = "%s/d%%d" %% (i // 100)
    if i %% 100 == 0: os.makedirs(d)
    open("%%s/f%%d" %% (d, i), "w").write(str(i))
'`, n, dir))
}

func (b *box) count(dir string) string { return b.sh("find " + dir + " -type f | wc -l") }

// python runs a script inside, with n as a prelude for renames by result.
func (b *box) python(script string) string {
	b.t.Helper()
	prelude := `
import os, errno, ctypes, signal, threading, time, sys
libc = ctypes.CDLL(None, use_errno=True)
def ren(a, b):
    try: os.rename(a, b); return "ok"
    except OSError as e: return errno.errorcode[e.errno]
`
	out, errs, code := b.run("python3", "-c", prelude+script)
	if code != 0 {
		b.t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	return strings.TrimSpace(out)
}

func TestOfTwoRacersForADirectoryOneWins(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		for i := range testlong.Pick(3, 30) {
			dir := "race" + strconv.Itoa(i)
			b.many(dir, 100)
			got := b.python(fmt.Sprintf(`
got = []
ts = [threading.Thread(target=lambda n=n: got.append(ren("%s", "won%d" + n))) for n in "ABCD"]
[t.start() for t in ts]; [t.join() for t in ts]
print(sorted(got), len([n for n in "ABCD" if os.path.exists("won%d" + n)]))
`, dir, i, i))
			if got != "['ENOENT', 'ENOENT', 'ENOENT', 'ok'] 1" {
				t.Errorf("round %d: %s", i, got)
			}
		}
	})
}

// Go's runtime sends SIGURG all the time; a signal makes the kernel start a call
// again.
func TestSignalsDuringARename(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.many("old", 500)
		got := b.python(`
signal.signal(signal.SIGALRM, lambda *a: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
r = ren("old", "new")
signal.setitimer(signal.ITIMER_REAL, 0, 0)
print(r)
`)
		if got != "ok" || b.count("new") != "500" {
			t.Errorf("%s, %s files", got, b.count("new"))
		}
	})
}

// What another program creates in the directory during its rename is in it
// afterwards.
func TestNothingCreatedDuringARenameIsLost(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.many("old", testlong.Pick(300, 10_000))
		got := b.python(`
made, stop = [], False
def make():
    i = 0
    while not stop:
        try:
            n = "late%d" % i; i += 1
            fd = os.open("old/d%d/%s" % (i % 5, n), os.O_CREAT | os.O_EXCL | os.O_WRONLY); os.close(fd)
            made.append(n)
        except OSError: time.sleep(0)
t = threading.Thread(target=make); t.start()
while len(made) < 20: time.sleep(0.001)
r = ren("old", "new")
stop = True; t.join()
there = {f for _, _, fs in os.walk("new") for f in fs} | {f for _, _, fs in os.walk("old") for f in fs}
print(r, len(set(made) - there), os.path.exists("old"))
`)
		if got != "ok 0 False" {
			t.Errorf("result, files lost, old is there: %s", got)
		}
	})
}

func TestAKilledCallerLeavesOneTree(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		b.many("old", 300)
		for round := range testlong.Pick(4, 20) {
			b.python(fmt.Sprintf(`
pid = os.fork()
if pid == 0:
    os.rename("old", "new"); os._exit(0)
time.sleep(%f); os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
`, float64(round)*0.01))
			for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				left := b.sh("ls -A | grep -e '^old$' -e '^new$' -e '^[.]~' || true")
				if left == "old" || left == "new" {
					break
				}
				if time.Now().After(end) {
					b.t.Fatalf("round %d: %q\n%s", round, left, b.content(b.dir().Path(store.InitLog)))
				}
			}
			if got := b.sh("find old new -type f 2>/dev/null | wc -l"); got != "300" {
				t.Fatalf("round %d: %s files", round, got)
			}
			b.sh("test -e old || mv new old")
		}
	})
}

// Mode U only, below: in mode P the kernel does the renames and refuses none.

func userBox(t *testing.T, body func(b *box)) {
	testuser.Both(t, func(t *testing.T) {
		b := newBox(t)
		if os.Getuid() == 0 {
			b.tree("old")
			if b.sh("mv old new; ls .sandboxes 2>/dev/null; grep -c Seccomp_filters:.1 /proc/self/status") != "1" {
				t.Error("mode P has another filter than the deny list")
			}
			return
		}
		body(b)
	})
}

// The move of a caller that limited itself would be done without its limits.
func TestLimitedCallersGetTheKernelsAnswer(t *testing.T) {
	userBox(t, func(b *box) {
		b.tree("old")
		b.tree("closed/old")
		landlock := `
def landlock():
    libc.prctl(38, 1, 0, 0, 0)
    attr = (ctypes.c_uint64 * 1)(1 << 13 | 1 << 5 | 1 << 4)  # refer, remove, make
    fd = libc.syscall(444, ctypes.byref(attr), 8, 0)
    assert fd >= 0 and libc.syscall(446, fd, 0) == 0
`
		got := b.python(landlock + `
pid = os.fork()
if pid == 0:
    landlock(); os._exit({"EXDEV": 1, "EACCES": 1}.get(ren("old", "new"), 2))
print(os.waitpid(pid, 0)[1] >> 8, ren("old", "new"))
`)
		if got != "1 EXDEV" {
			b.t.Errorf("landlocked, beside a landlocked one: %s", got)
		}
		got = b.python(`
class P(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("f", ctypes.c_void_p)]
code = (ctypes.c_uint64 * 1)(0x7fff0000 << 32 | 6)
libc.prctl(22, 2, ctypes.byref(P(1, ctypes.addressof(code))))
print(ren("old", "new"))
`)
		if got != "EXDEV" {
			b.t.Errorf("with a filter of its own: %s", got)
		}
		for _, wrap := range []string{"unshare -Ur", "unshare -Urm", "unshare -Ur chroot /", "bwrap --bind / / --dev /dev --"} {
			if got := b.sh(wrap + ` python3 -c 'import os
try: os.rename("` + b.home + `/old", "` + b.home + `/new"); print("ok")
except OSError as e: print(e.errno)' || true`); got != "18" {
				b.t.Errorf("%s: %q", wrap, got)
			}
		}
		if got := b.python(`print(ren("old", "new"))`); got != "ok" {
			b.t.Errorf("a plain command afterwards: %s", got)
		}
	})
}

// Above the limits, and for what cannot be made again, programs fall back as ever.
func TestWhatIsNotMovedIsLeftAsItWas(t *testing.T) {
	userBox(t, func(b *box) {
		b.tree("p/.sandboxes/x") // no storage, just its name
		b.tree("unreadable")
		b.tree("deep")
		hostShell(b.t, b.home, "mkdir unreadable/no && chmod 0 unreadable/no; mkdir -p deep/$(printf 'd/%.0s' $(seq 230))")
		defer hostShell(b.t, b.home, "chmod 700 unreadable/no")
		parent := filepath.Dir(b.storage) // its storage is a mount inside
		for _, dir := range []string{"unreadable", "deep", parent} {
			if got := b.python(fmt.Sprintf(`print(ren("%s", "new"))`, dir)); got == "ok" {
				b.t.Errorf("%s was renamed", dir)
			}
			b.sh("test ! -e new; ls -A | grep '^[.]~' && exit 1; true")
		}
		b.sh("cat unreadable/a unreadable/sub/deep/c deep/a")
	})
}

// An init that is killed at any moment of a move: the next start has one whole tree.
func TestKilledInitDuringARename(t *testing.T) {
	userBox(t, func(b *box) {
		const files = 300
		for round := range testlong.Pick(4, 60) {
			dir := "r" + strconv.Itoa(round)
			b.many(dir+"/old", files)
			b.sh("true")
			c := b.command("python3", "-c", "import os; os.rename('"+dir+"/old', '"+dir+"/new')")
			if err := c.Start(); err != nil {
				b.t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { _ = c.Wait(); close(ended) }()
			for begun := false; !begun; {
				_, err := os.Stat(b.dir().Path("rename.json"))
				begun = err == nil
				select {
				case <-ended:
					begun = true
				default:
				}
			}
			if round%2 == 1 { // after the commit
				b.wait("the new tree", func() bool {
					_, err := os.Lstat(b.dir().Path(store.Upper, b.home, dir, "new"))
					return err == nil
				})
			}
			time.Sleep(time.Duration(round%8) * 3 * time.Millisecond)
			pid, _, _ := strings.Cut(b.content(b.dir().Path(store.PidFile)), " ")
			if n, err := strconv.Atoi(pid); err == nil {
				_ = unix.Kill(n, unix.SIGKILL)
			}
			<-ended
			got := b.sh("cd " + dir + "; ls -A; find . -type f | wc -l")
			if got != "old\n"+strconv.Itoa(files) && got != "new\n"+strconv.Itoa(files) {
				b.t.Fatalf("round %d: %q\n%s", round, got, b.content(b.dir().Path(store.InitLog)))
			}
			b.t.Logf("round %d: %s", round, strings.Fields(got)[0])
			if _, err := os.Stat(b.dir().Path("rename.json")); err == nil {
				b.t.Error("the journal is still there")
			}
		}
	})
}

// Storage that fills up in the middle: the tree stays, the temporary one goes.
func TestRenameWithoutSpace(t *testing.T) {
	userBox(t, func(b *box) {
		hostShell(b.t, b.home, "mkdir -p p/big; for i in 1 2 3 4 5 6 7 8; do head -c 400000 /dev/urandom > p/big/$i; done; mkdir small")
		self, err := os.Executable()
		if err != nil {
			b.t.Fatal(err)
		}
		out := hostShell(b.t, b.home, `unshare -Urm sh -c 'mount -t tmpfs -o size=2m none small
python3 - <<EOF
import os, subprocess
def run(*a): return subprocess.run(("client", "'$PWD'/small/s", "box") + a, executable="`+self+`", capture_output=True, text=True)
r = run("python3", "-c", "import os; os.rename(\"p/big\", \"p/new\")")
print(r.stderr.strip().split("\\n")[-1][:40])
print(run("sh", "-c", "cat p/big/* | wc -c; ls -A p").stdout.split())
subprocess.run(("stop", "'$PWD'/small/s", "box"), executable="`+self+`")
EOF'`)
		if !strings.Contains(out, "[Errno 28]") || !strings.Contains(out, "'3200000'") || strings.Contains(out, ".~") || strings.Contains(out, "'new'") {
			b.t.Errorf("got %s", out)
		}
	})
}

func TestTenThousandFilesAreMoved(t *testing.T) {
	userBox(t, func(b *box) {
		n := testlong.Pick(1000, 10_000)
		b.many("old", n)
		b.sh("true")
		start := time.Now()
		b.sh("mv -T old new")
		b.t.Logf("%d files in %v", n, time.Since(start).Round(time.Millisecond))
		if got := b.count("new"); got != strconv.Itoa(n) {
			b.t.Errorf("%s files", got)
		}
	})
}
