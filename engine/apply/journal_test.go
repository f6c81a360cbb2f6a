package apply_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/apply"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/internal/testuser"
)

func TestUndoOfNothing(t *testing.T) {
	story(t, "echo x > f", func(t *testing.T, r *rig) {
		_, err := r.undo()
		if fault.CodeOf(err) != fault.NothingUndo || fault.ExitCode(err) != 3 {
			t.Error(err)
		}
		r.Sh(t, "echo y > f")
		res, err := r.accept(r.scan(t))
		must(t, err)
		if _, err := apply.Undo(context.Background(), r.env, "000009-accept"); fault.CodeOf(err) != fault.NothingUndo {
			t.Error(err)
		}
		_, err = apply.Undo(context.Background(), r.env, res.ID)
		must(t, err)
		if _, err := apply.Undo(context.Background(), r.env, res.ID); fault.CodeOf(err) != fault.NothingUndo {
			t.Error(err)
		}
	})
}

func TestUndoIsRefusedWhereTheHostMovedOn(t *testing.T) {
	edits := map[string]string{
		"edited":       "echo later > f",
		"mode":         "chmod 700 f",
		"deleted":      "rm f",
		"made again":   "echo later > gone",
		"in a new dir": "echo later > new/mine",
		"type":         "rm f; ln -s x f",
	}
	testuser.Both(t, func(t *testing.T) {
		for what, edit := range edits {
			t.Run(what, func(t *testing.T) {
				chapter(t, "echo one > f; echo one > g; echo x > gone", func(t *testing.T, r *rig) {
					r.Sh(t, "echo two > f; echo two > g; rm gone; mkdir new; echo n > new/n")
					_, err := r.accept(r.scan(t))
					must(t, err)
					r.ShHost(t, edit)
					before := r.host(t)
					_, err = r.undo()
					if fault.CodeOf(err) != fault.Stale || fault.ExitCode(err) != 4 {
						t.Errorf("undo: %v", err)
					}
					equal(t, "host", r.host(t), before)
				})
			})
		}
	})
}

func TestUndoOfRejectIsRefusedWhereTheSandboxMovedOn(t *testing.T) {
	edits := map[string]string{
		"edited":      "echo later > f",
		"made again":  "echo later > new",
		"in the tree": "echo later > d/sub/x",
	}
	testuser.Both(t, func(t *testing.T) {
		for what, edit := range edits {
			t.Run(what, func(t *testing.T) {
				chapter(t, "echo one > f; mkdir -p d/sub; echo x > d/sub/x", func(t *testing.T, r *rig) {
					r.Sh(t, "echo two > f; echo n > new; rm -r d")
					_, err := r.reject(r.scan(t))
					must(t, err)
					r.Sh(t, edit)
					before := r.box(t)
					_, err = r.undo()
					if fault.CodeOf(err) != fault.Stale {
						t.Errorf("undo: %v", err)
					}
					equal(t, "sandbox", r.box(t), before)
				})
			})
		}
	})
}

func TestADamagedJournalIsNamedAndLeftAlone(t *testing.T) {
	story(t, "echo one > f", func(t *testing.T, r *rig) {
		r.Sh(t, "echo two > f")
		res, err := r.accept(r.scan(t))
		must(t, err)
		file := filepath.Join(r.env.Journal, res.ID, "log")
		good := read(t, file)
		for _, bad := range []string{"", "{", "{\n", `{"id":"other"}` + "\n", "null\n", good[:len(good)/2], strings.Replace(good, "step", "stop", 1)} {
			must(t, os.WriteFile(file, []byte(bad), 0o600))
			_, err = r.undo()
			if fault.CodeOf(err) != fault.Damaged || !strings.Contains(err.Error(), file) {
				t.Errorf("%q: %v", bad, err)
			}
			if read(t, r.H("f")) != "two\n" || read(t, filepath.Join(r.env.Journal, res.ID, "data", "0")) != "one\n" {
				t.Errorf("%q: something was touched", bad)
			}
		}
	})
}

func TestTheJournalKeepsTwenty(t *testing.T) {
	story(t, "echo 0 > f", func(t *testing.T, r *rig) {
		for i := range 25 {
			r.Sh(t, "echo "+strings.Repeat("x", i+1)+" > f")
			_, err := r.accept(r.scan(t))
			must(t, err)
		}
		list, err := filepath.Glob(r.env.Journal + "/0*")
		must(t, err)
		if len(list) != 20 {
			t.Errorf("%d operations", len(list))
		}
		for range 20 {
			_, err = r.undo()
			must(t, err)
		}
		if got := read(t, r.H("f")); got != "xxxxx\n" {
			t.Errorf("after twenty undos: %q", got)
		}
		if _, err := r.undo(); fault.CodeOf(err) != fault.NothingUndo {
			t.Error(err)
		}
	})
}

// The journal may lie on another file system than what it keeps.
func TestTheJournalOnAnotherFileSystem(t *testing.T) {
	story(t, someDirs, func(t *testing.T, r *rig) {
		r.env.Journal = otherFileSystem(t, r.Host)
		before := r.host(t)
		r.Sh(t, "rm -r a; echo x >> b/f1; rm b/f2; ln -s x b/f3.link; mkdir n; echo y > n/y; rm b/pipe; rm -r c; echo file > c")
		roundTrip(t, r, before)
	})
}

// A write that cannot be done takes back those before it.
func TestAllOrNothing(t *testing.T) {
	story(t, "mkdir d z; echo one > d/f; echo one > z/f; echo x > y", func(t *testing.T, r *rig) {
		before := r.host(t)
		r.Sh(t, "echo two > d/f; mkdir d/new; echo n > d/new/n; rm y; echo two > z/f")
		sel := r.scan(t)
		sel = append(sel, sel[len(sel)-1])
		last := &sel[len(sel)-1] // something that fails in the middle of it all
		last.Change.Path, last.Change.Kind = r.H("z/f/below"), "added"
		last.Change.Host, last.Change.Sandbox = entry.Entry{}, entry.Entry{}
		if res, err := r.accept(sel); err == nil {
			t.Errorf("%+v", res)
		}
		equal(t, "host", r.host(t), before)

		if left, _ := filepath.Glob(r.env.Journal + "/0*"); len(left) > 0 {
			t.Errorf("left in the journal: %v", left)
		}
		if _, err := r.undo(); fault.CodeOf(err) != fault.NothingUndo {
			t.Error(err)
		}
	})
}

// A directory in which its owner may not write is open to an accept, and to its
// undo, for as long as they take.
func TestAReadOnlyDirectoryIsOpenedForAMoment(t *testing.T) {
	story(t, "mkdir d z; echo one > d/f; echo one > z/f; echo gone > z/g", func(t *testing.T, r *rig) {
		r.Sh(t, "echo two > d/f; echo two > z/f; echo n > z/n; rm z/g")
		must(t, os.Chmod(r.H("z"), 0o555)) //nolint:gosec // the case
		before := r.host(t)
		_, err := r.accept(r.scan(t, "z/f", "z/n", "z/g"))
		must(t, err)
		info, err := os.Stat(r.H("z"))
		must(t, err)
		if info.Mode().Perm() != 0o555 || read(t, r.H("z/f")) != "two\n" || read(t, r.H("z/n")) != "n\n" {
			t.Errorf("%s:\n%s", info.Mode(), r.host(t))
		}
		_, err = r.undo()
		must(t, err)
		equal(t, "host", r.host(t), before)

		// And with the directory's own new mode.
		_, err = r.accept(r.scan(t))
		must(t, err)
		equal(t, "host after accept of all", r.host(t), r.box(t))
		_, err = r.undo()
		must(t, err)
		equal(t, "host", r.host(t), before)
	})
}

func TestMetadataIsKept(t *testing.T) {
	story(t, "printf '1\\n2\\n3\\n' > f; chmod 640 f; touch -d 2001-02-03 f; mkdir d", func(t *testing.T, r *rig) {
		must(t, unix.Setxattr(r.H("f"), "user.host", []byte("h"), 0))
		r.Sh(t, "sed -i 's/2/two/' f; chmod 755 f; truncate -s 64M sparse; echo end >> sparse; touch -d 1999-01-01 d/n 2>/dev/null || :; echo n > d/n; touch -d 1999-01-01 d/n")
		must(t, unix.Setxattr(r.M("d/n"), "user.colour", []byte("red"), 0))
		must(t, unix.Setxattr(r.M("d"), "user.dir", []byte("blue"), 0))

		// A block keeps all of the host's.
		ids := r.blocks(t, "f")
		_, err := r.accept(r.selectHunks(t, "f", ids[len(ids)-1]))
		must(t, err)
		if got := read(t, r.H("f")); got != "1\ntwo\n3\n" {
			t.Errorf("%q of %d", got, len(ids))
		}
		if st, _ := os.Stat(r.H("f")); st.Mode().Perm() != 0o640 {
			t.Errorf("mode %v", st.Mode())
		}
		if xattr(r.H("f"), "user.host") != "h" {
			t.Error("xattrs of the host are lost")
		}

		_, err = r.accept(r.scan(t))
		must(t, err)
		for path, want := range map[string]string{"d/n": "red", "d": "blue"} {
			name := map[string]string{"red": "user.colour", "blue": "user.dir"}[want]
			if got := xattr(r.H(path), name); got != want {
				t.Errorf("%s: %q", path, got)
			}
		}
		var st unix.Stat_t
		must(t, unix.Stat(r.H("sparse"), &st))
		if st.Size < 64<<20 || st.Blocks*512 > 1<<20 {
			t.Errorf("sparse: %d bytes in %d blocks", st.Size, st.Blocks)
		}
		if s, _ := os.Stat(r.H("d/n")); s.ModTime().Year() > 1999 {
			t.Errorf("mtime %v", s.ModTime())
		}
		must(t, filepath.WalkDir(r.Host, func(path string, _ os.DirEntry, _ error) error {
			buf := make([]byte, 4096)
			n, _ := unix.Llistxattr(path, buf)
			if strings.Contains(string(buf[:max(n, 0)]), "overlay.") {
				t.Errorf("%s has an overlay mark", path)
			}
			return nil
		}))
		for range 2 {
			_, err = r.undo()
			must(t, err)
		}
		if s, _ := os.Stat(r.H("f")); s.ModTime().Year() != 2001 {
			t.Errorf("mtime after undo %v", s.ModTime())
		}
		if xattr(r.H("d"), "user.dir") != "" {
			t.Error("the directory keeps its xattr after undo")
		}
	})
}

func xattr(path, name string) string {
	buf := make([]byte, 64)
	n, err := unix.Lgetxattr(path, name, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}
