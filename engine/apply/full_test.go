package apply_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/apply"
	"sandbox/engine/fault"
	"sandbox/internal/testlong"
	"sandbox/internal/testuser"
)

// smallVar names, in the environment, the small file system of a test: root
// mounts it, the other user finds it there.
const smallVar = "SBX_SMALL_DISK"

// withSmallDisk runs body as root and as a user, with a directory on a file
// system of a few megabytes.
func withSmallDisk(t *testing.T, body func(t *testing.T, small string)) {
	t.Helper()
	if !testuser.Inside() && os.Getuid() == 0 {
		dir, err := os.MkdirTemp("", "sbx-small-")
		must(t, err)
		must(t, unix.Mount("small", dir, "tmpfs", 0, "size=4m,mode=1777"))
		t.Setenv(smallVar, dir)
		t.Cleanup(func() {
			_ = unix.Unmount(dir, unix.MNT_DETACH)
			_ = os.Remove(dir)
		})
	}
	testuser.Both(t, func(t *testing.T) {
		small, err := os.MkdirTemp(os.Getenv(smallVar), "test-")
		must(t, err)
		defer func() { _ = exec.Command("rm", "-rf", small).Run() }()
		body(t, small)
	})
}

// fill leaves so much room on the file system of a directory, and gives what
// makes room again.
func fill(t *testing.T, dir string, left int64) (empty func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	must(t, err)
	defer func() { _ = f.Close() }()
	var st unix.Statfs_t
	must(t, unix.Statfs(dir, &st))
	if size := int64(st.Bavail)*st.Bsize - left; size > 0 { //nolint:gosec // a few megabytes
		must(t, unix.Fallocate(int(f.Fd()), 0, 0, size))
	}
	return func() { must(t, os.Remove(name)) }
}

const bigFiles = `for i in 1 2 3 4 5 6 7 8 9; do head -c 20000 /dev/zero | tr '\0' $i > f$i; done; mkdir gone; echo g > gone/g; echo m > mode`

const bigChanges = `for i in 1 2 3 4 5 6 7; do head -c 20000 /dev/zero | tr '\0' x > f$i; done; rm f8; rm -r gone; chmod 600 mode
mkdir new; for i in 1 2 3; do head -c 20000 /dev/zero | tr '\0' n > new/n$i; done; rm f9; ln -s x f9`

func TestAFullDisk(t *testing.T) {
	withSmallDisk(t, func(t *testing.T, small string) {
		for _, where := range []string{"of the project and the storage", "of the project", "of the journal"} {
			t.Run(where, func(t *testing.T) {
				if where != "of the journal" {
					t.Setenv("TMPDIR", small)
				}
				chapter(t, bigFiles, func(t *testing.T, r *rig) {
					switch where {
					case "of the project":
						r.env.Journal = otherFileSystem(t, r.Host)
					case "of the journal":
						r.env.Journal = small + "/journal"
					}
					r.Sh(t, bigChanges)
					host, box, rows := full(t, r.Host), full(t, r.M("")), r.rows(t)
					failed := 0
					for left := int64(0); left < 512<<10; left += int64(testlong.Pick(36, 8)) << 10 {
						empty := fill(t, small, left)
						_, err := r.accept(r.scan(t))
						if err == nil { // there was room enough
							empty()
							_, err = r.undo()
							must(t, err)
							break
						}
						failed++
						if !errors.Is(err, unix.ENOSPC) || !strings.Contains(fault.HintOf(err), "Nothing was written") {
							t.Errorf("with %d bytes left: %v (%s)", left, err, fault.HintOf(err))
						}
						equal(t, "the host of a full disk", full(t, r.Host), host)
						r.noTemporaries(t)
						if apply.Pending(r.env.Journal) {
							t.Errorf("with %d bytes left: something is pending", left)
						}
						empty()
						equal(t, "the changes", r.rows(t), rows)
						if t.Failed() {
							t.FailNow()
						}
					}
					if failed == 0 {
						t.Error("the disk was never full")
					}
					t.Logf("%d times", failed)
					_, err := r.accept(r.scan(t))
					must(t, err)
					equal(t, "the host", full(t, r.Host), box)
					// An undo needs no room to speak of, or says that it had none.
					empty := fill(t, small, 0)
					_, err = r.undo()
					empty()
					if err != nil {
						if !errors.Is(err, unix.ENOSPC) {
							t.Errorf("undo: %v", err)
						}
						r.recovered(t)
						if full(t, r.Host) == box {
							_, err = r.undo()
							must(t, err)
						}
					}
					equal(t, "the host after undo", full(t, r.Host), host)
				})
			})
		}
	})
}

// A part of the project may be read-only, which shows when its turn comes.
func TestAReadOnlyDirectoryInTheMiddle(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		chapter(t, "for d in a b c d; do mkdir $d; echo 1 > $d/f; echo 2 > $d/g; done", func(t *testing.T, r *rig) {
			r.Sh(t, "for d in a b c d; do echo new > $d/f; rm $d/g; echo n > $d/n; done; mkdir e; echo x > e/x")
			// Only root can mount; a directory of one's own is opened for the moment.
			if os.Getuid() != 0 {
				must(t, os.Chmod(r.H("c"), 0o555)) //nolint:gosec // the case
				_, err := r.accept(r.scan(t, "a", "b", "c/f", "c/g", "c/n"))
				_ = os.Chmod(r.H("c"), 0o755) //nolint:gosec // so that it can be removed
				if err != nil && !errors.Is(err, unix.EACCES) || apply.Pending(r.env.Journal) {
					t.Error(err)
				}
				return
			}
			must(t, unix.Mount(r.H("c"), r.H("c"), "", unix.MS_BIND, ""))
			t.Cleanup(func() { _ = unix.Unmount(r.H("c"), unix.MNT_DETACH) })
			must(t, unix.Mount("", r.H("c"), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			want, hint := unix.EROFS, "read-only"
			host, rows := full(t, r.Host), r.rows(t)
			_, err := r.accept(r.scan(t, "a", "b", "c/f", "c/g", "c/n", "d", "e"))
			if !errors.Is(err, want) || !strings.Contains(fault.HintOf(err), hint) || !strings.Contains(fmt.Sprint(err), r.H("c")) {
				t.Errorf("%v (%s)", err, fault.HintOf(err))
			}
			equal(t, "the host", full(t, r.Host), host)
			equal(t, "the changes", r.rows(t), rows)
			if apply.Pending(r.env.Journal) {
				t.Error("something is pending")
			}
			notes, err := apply.Recover(context.Background(), r.env)
			if err != nil || len(notes) > 0 {
				t.Errorf("%v %v", notes, err)
			}
			_, err = r.accept(r.scan(t, "a", "b", "d", "e"))
			must(t, err)
		})
	})
}
