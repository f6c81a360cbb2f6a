package apply_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/apply"
	"sandbox/engine/rootfs"
	"sandbox/internal/testlong"
	"sandbox/internal/testuser"
)

// killed is what stands for a SIGKILL: nothing of the program runs after it.
type killed struct{ point string }

// killAfter runs an operation that ends at its n-th change, and reports where;
// "" when it came to its end before.
func killAfter(n int, do func()) (point string) {
	count := 0
	apply.OnChange(func(p string) {
		if count++; count == n {
			panic(killed{p})
		}
	})
	defer apply.OnChange(nil)
	defer func() {
		if p := recover(); p != nil {
			k, ours := p.(killed)
			if !ours {
				panic(p)
			}
			point = k.point
		}
	}()
	do()
	return ""
}

// everyKind is a host with all kinds of entries, and everyChange changes it in
// every way that an accept has a step for.
const everyKind = `
mkdir -p d/sub keep ro gone/deep/er swap1 swap2 tofile
echo one > d/f; echo one > d/sub/f; echo x > d/old; touch -d 2001-02-03 d/f
echo a > swap1/a; echo b > swap2/b; echo c > swap1/same; echo d > swap2/same
echo 1 > gone/1; echo 2 > gone/deep/2; echo 3 > gone/deep/er/3; mkfifo gone/pipe; ln -s nowhere gone/link
ln -s target link; echo m > mode; chmod 640 mode; touch -d 2002-03-04 mode
echo r > ro/f; echo file > todir; echo in > tofile/in; mkfifo pipe; echo late > keep/late
chmod 550 ro; setfattr -n user.old -v host d/sub/f`

const everyChange = `
echo two > d/f; chmod 755 d/sub/f; echo more >> d/sub/f; rm d/old
mkdir -p new/in/side; echo n > new/n; echo deep > new/in/side/n; ln -s ../n new/in/l; mkfifo new/in/p; chmod 500 new/in/side
rm -r gone; ln -sfn elsewhere link; chmod 600 mode
rm todir; mkdir todir; echo inside > todir/inside
rm -r tofile; echo a-file > tofile; rm pipe; echo plain > pipe
chmod 700 keep; touch d/empty
if [ -n "$ROOT" ]; then mv swap1 t; mv swap2 swap1; mv t swap2; echo changed > swap1/same; rm swap2/a; mv d moved; echo x > moved/x; else echo b2 > swap2/b; fi`

// full is dump with extended attributes.
func full(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(dump(t, dir))
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		buf := make([]byte, 4096)
		n, _ := unix.Llistxattr(path, buf)
		names := strings.Split(string(buf[:max(n, 0)]), "\x00")
		sort.Strings(names)
		for _, name := range names {
			if strings.HasPrefix(name, "user.") && !strings.Contains(name, "overlay.") {
				fmt.Fprintf(&b, "%q %s=%s\n", path[len(dir):], name, xattr(path, name))
			}
		}
		return err
	}))
	return b.String()
}

func killedStory(t *testing.T, changes string, body func(t *testing.T, r *rig)) {
	t.Helper()
	testuser.Both(t, func(t *testing.T) {
		for _, where := range []string{"journal beside it", "journal elsewhere"} {
			t.Run(where, func(t *testing.T) {
				chapter(t, everyKind, func(t *testing.T, r *rig) {
					t.Cleanup(func() { _ = os.Chmod(r.H("ro"), 0o700) }) //nolint:gosec // so that it can be removed
					root := ""
					if os.Getuid() == 0 {
						root = "1"
					}
					if where == "journal elsewhere" { // what is replaced has to be copied there, and back
						r.env.Journal = otherFileSystem(t, r.Host)
					}
					r.Sh(t, "ROOT="+root+"\n"+changes)
					body(t, r)
				})
			})
		}
	})
}

// otherFileSystem makes a directory that is not on the same one as dir.
func otherFileSystem(t *testing.T, dir string) string {
	t.Helper()
	shm, err := os.MkdirTemp("/dev/shm", "sbxtest-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(shm) })
	var a, b unix.Stat_t
	must(t, unix.Stat(shm, &a))
	must(t, unix.Stat(dir, &b))
	if a.Dev == b.Dev {
		t.Fatal("the test wants two file systems")
	}
	return shm
}

// recovered takes back what was cut short, and checks that nothing of it is left.
func (r *rig) recovered(t *testing.T) {
	t.Helper()
	_, err := apply.Recover(context.Background(), r.env)
	must(t, err)
	if apply.Pending(r.env.Journal) {
		t.Error("an operation is still pending")
	}
	r.noTemporaries(t)
}

func (r *rig) noTemporaries(t *testing.T) {
	t.Helper()
	for _, dir := range []string{r.Host, r.U("")} {
		must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
			if strings.Contains(path, rootfs.TempPrefix) {
				t.Errorf("%s is left", path)
			}
			return nil
		}))
	}
}

// kills goes through all points of an operation, or through some of them.
func kills(t *testing.T, short int, do func(n int) string) {
	t.Helper()
	step := testlong.Pick(short, 1)
	seen := map[string]bool{}
	for n := 1; ; n++ {
		if n > 8 && n%step != 0 {
			continue
		}
		point := do(n)
		if t.Failed() {
			t.Fatalf("killed at change %d: %s", n, point)
		}
		if point == "" {
			t.Logf("%d changes; killed after: %v", n-1, seen)
			return
		}
		seen[point] = true
	}
}

func TestAcceptKilledAnywhere(t *testing.T) {
	killedStory(t, everyChange, func(t *testing.T, r *rig) {
		host, rows, box := full(t, r.Host), r.rows(t), full(t, r.M(""))
		kills(t, 9, func(n int) string {
			point := killAfter(n, func() {
				_, err := r.accept(r.scan(t))
				must(t, err)
			})
			r.recovered(t)
			if point == "" || full(t, r.Host) == box {
				equal(t, "the host after the accept", full(t, r.Host), box)
				_, err := r.undo()
				must(t, err)
			}
			equal(t, "the host", full(t, r.Host), host)
			equal(t, "the changes", r.rows(t), rows)
			equal(t, "the sandbox", full(t, r.M("")), box)
			return point
		})
	})
}

func TestUndoKilledAnywhere(t *testing.T) {
	killedStory(t, everyChange, func(t *testing.T, r *rig) {
		host, rows, box := full(t, r.Host), r.rows(t), full(t, r.M(""))
		kills(t, 13, func(n int) string {
			_, err := r.accept(r.scan(t))
			must(t, err)
			accepted := full(t, r.Host)
			point := killAfter(n, func() {
				_, err := r.undo()
				must(t, err)
			})
			r.recovered(t)
			if full(t, r.Host) == accepted { // it had not begun
				_, err := r.undo()
				must(t, err)
			}
			equal(t, "the host", full(t, r.Host), host)
			equal(t, "the changes", r.rows(t), rows)
			equal(t, "the sandbox", full(t, r.M("")), box)
			return point
		})
	})
}

// What takes back can be killed too.
func TestRecoveryKilledAnywhere(t *testing.T) {
	killedStory(t, everyChange, func(t *testing.T, r *rig) {
		host, rows := full(t, r.Host), r.rows(t)
		total := 0
		apply.OnChange(func(string) { total++ })
		_, err := r.accept(r.scan(t))
		must(t, err)
		_, err = r.undo()
		must(t, err)
		for _, part := range []int{2, 3} {
			kills(t, 17, func(n int) string {
				killAfter(total*(part-1)/(2*part), func() { _, _ = r.accept(r.scan(t)) })
				point := killAfter(n, func() { _, _ = apply.Recover(context.Background(), r.env) })
				r.recovered(t)
				equal(t, "the host", full(t, r.Host), host)
				equal(t, "the changes", r.rows(t), rows)
				return point
			})
		}
	})
}

func TestRejectKilledAnywhere(t *testing.T) {
	killedStory(t, strings.NewReplacer("$ROOT", "", "; chmod 500 new/in/side", "").Replace(everyChange), func(t *testing.T, r *rig) {
		host, rows, box := full(t, r.Host), r.rows(t), full(t, r.M(""))
		kills(t, 9, func(n int) string {
			point := killAfter(n, func() {
				_, err := r.reject(r.scan(t))
				must(t, err)
			})
			r.recovered(t)
			if point == "" || point == "done" {
				equal(t, "the sandbox after the reject", full(t, r.M("")), host)
				undone := killAfter(n, func() {
					_, err := r.undo()
					must(t, err)
				})
				r.recovered(t)
				if undone != "" && full(t, r.M("")) == host {
					_, err := r.undo()
					must(t, err)
				}
			}
			equal(t, "the changes", r.rows(t), rows)
			equal(t, "the sandbox", full(t, r.M("")), box)
			equal(t, "the host", full(t, r.Host), host)
			return point
		})
	})
}
