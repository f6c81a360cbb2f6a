package rootfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
	"sandbox/internal/testuser"
)

func tree(t *testing.T) (string, *rootfs.Root) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root, err := rootfs.Open(dir)
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return dir, root
}

func at(t *testing.T, r *rootfs.Root, path string) rootfs.At {
	t.Helper()
	a, err := r.At(path)
	must(t, err)
	t.Cleanup(a.Close)
	return a
}

func TestInstallPutsBackWhatWasNotExpected(t *testing.T) {
	dir, root := tree(t)
	must(t, os.WriteFile(dir+"/f", []byte("theirs"), 0o600))
	must(t, os.WriteFile(dir+"/new", []byte("ours"), 0o600))
	f, tmp := at(t, root, "/f"), at(t, root, "/new")
	for _, expect := range []entry.Print{entry.PrintBytes([]byte("seen")), entry.PrintNone, "dir"} {
		old, err := f.Install(tmp, expect)
		if old || fault.CodeOf(err) != fault.Stale {
			t.Errorf("%s: %v %v", expect, old, err)
		}
		if read(t, dir+"/f") != "theirs" || read(t, dir+"/new") != "ours" {
			t.Fatalf("%s: something moved", expect)
		}
	}
	old, err := f.Install(tmp, entry.PrintBytes([]byte("theirs")))
	if !old || err != nil || read(t, dir+"/f") != "ours" || read(t, dir+"/new") != "theirs" {
		t.Errorf("%v %v", old, err)
	}
	if _, err := at(t, root, "/gone").Install(tmp, entry.PrintBytes(nil)); fault.CodeOf(err) != fault.Stale {
		t.Errorf("over nothing: %v", err)
	}
	old, err = at(t, root, "/fresh").Install(tmp, entry.PrintNone)
	if old || err != nil || read(t, dir+"/fresh") != "theirs" {
		t.Errorf("%v %v", old, err)
	}
}

// Somebody saves the file again and again; what an Install takes out is what it
// was told to take out, and no save is lost.
func TestInstallAgainstAWriter(t *testing.T) {
	dir, root := tree(t)
	f := at(t, root, "/f")
	done := make(chan bool)
	must(t, os.WriteFile(dir+"/f", []byte("save 0"), 0o600))
	go func() {
		defer close(done)
		for range 2000 {
			_ = os.WriteFile(dir+"/save", []byte("save"), 0o600)
			_ = os.Rename(dir+"/save", dir+"/f")
		}
	}()
	want := entry.PrintBytes([]byte("save"))
	taken := 0
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		tmp := at(t, root, "/"+rootfs.TempName())
		must(t, os.WriteFile(dir+"/"+tmp.Name, []byte("ours"), 0o600))
		old, err := f.Install(tmp, want)
		switch {
		case err == nil && old:
			taken++
			if got := read(t, dir+"/"+tmp.Name); got != "save" {
				t.Fatalf("took out %q", got)
			}
		case err == nil:
			t.Fatal("nothing was there")
		case fault.CodeOf(err) != fault.Stale:
			t.Fatal(err)
		}
		must(t, tmp.RemoveAll())
	}
	if taken == 0 {
		t.Error("none was taken")
	}
}

func TestDetachPutsBackWhatWasNotExpected(t *testing.T) {
	dir, root := tree(t)
	must(t, os.WriteFile(dir+"/f", []byte("theirs"), 0o600))
	f := at(t, root, "/f")
	if err := f.Detach(f.Sibling("tmp"), "dir"); fault.CodeOf(err) != fault.Stale || read(t, dir+"/f") != "theirs" {
		t.Error(err)
	}
	must(t, f.Detach(f.Sibling("tmp"), entry.PrintBytes([]byte("theirs"))))
	if err := f.Detach(f.Sibling("tmp2"), "dir"); fault.CodeOf(err) != fault.Stale {
		t.Error(err)
	}
}

func TestNoLinkIsFollowed(t *testing.T) {
	dir, root := tree(t)
	must(t, os.Mkdir(dir+"/real", 0o755))
	must(t, os.Symlink("real", dir+"/link"))
	must(t, os.Symlink("/", dir+"/up"))
	for _, path := range []string{"/link/f", "/up/etc/passwd"} {
		if _, err := root.At(path); !errors.Is(err, unix.ELOOP) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"/../etc/passwd", "/real/../f", "/a\x00b/f"} {
		if a, err := root.At(path); err == nil {
			t.Errorf("%s: %+v", path, a)
		}
	}
	link := at(t, root, "/link")
	if _, err := link.OpenFile(); err == nil {
		t.Error("a link was opened")
	}
	if _, err := link.Enter(); err == nil {
		t.Error("a link was entered")
	}
	if err := link.Chmod(0o700); err == nil {
		t.Error("chmod of a link")
	}
	must(t, link.SetMeta(view.Meta{Mode: 0o700, MtimeNs: 1}))
	if st, _ := os.Stat(dir + "/real"); st.Mode().Perm() != 0o755 || st.ModTime().UnixNano() == 1 {
		t.Error("the target of a link was changed")
	}
	must(t, os.WriteFile(dir+"/real/f", nil, 0o600))
	must(t, link.RemoveAll())
	read(t, dir+"/real/f")
}

func TestCopyKeepsAllOfATree(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		dir, root := tree(t)
		must(t, os.MkdirAll(dir+"/a/ro", 0o755))
		must(t, os.WriteFile(dir+"/a/ro/f", []byte("x"), 0o640))
		must(t, os.Symlink("nowhere", dir+"/a/link"))
		must(t, unix.Mkfifo(dir+"/a/fifo", 0o600))
		must(t, os.Chmod(dir+"/a/fifo", 0o620))
		sparse, err := os.Create(dir + "/a/sparse")
		must(t, err)
		_, err = sparse.WriteAt([]byte("end"), 300<<20)
		must(t, err)
		must(t, sparse.Truncate(400<<20))
		must(t, sparse.Close())
		must(t, unix.Setxattr(dir+"/a", "user.x", []byte("y"), 0))
		must(t, at(t, root, "/a/ro").SetMeta(view.Meta{Mode: 0o555, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), MtimeNs: 1e18 + 7}))
		t.Cleanup(func() { _ = at(t, root, "/a").RemoveAll() })

		shm, err := os.MkdirTemp("/dev/shm", "sbxtest-")
		must(t, err)
		other, err := rootfs.Open(shm)
		must(t, err)
		t.Cleanup(func() { _ = at(t, other, "/b").RemoveAll(); _ = os.RemoveAll(shm) })
		if err := at(t, root, "/a").Transfer(at(t, other, "/b")); !errors.Is(err, unix.EXDEV) {
			t.Fatal(err)
		}
		must(t, at(t, root, "/a").CopyTo(at(t, other, "/b")))
		must(t, at(t, root, "/a").RemoveAll())
		if _, err := os.Lstat(dir + "/a"); err == nil {
			t.Error("the source stays")
		}
		for name, want := range map[string]os.FileMode{"": os.ModeDir | 0o755, "/ro": os.ModeDir | 0o555, "/ro/f": 0o640, "/link": os.ModeSymlink | 0o777, "/fifo": os.ModeNamedPipe | 0o620} {
			st, err := os.Lstat(shm + "/b" + name)
			if err != nil || st.Mode() != want {
				t.Errorf("%s: %v %v", name, st, err)
			}
			if name == "/ro" && st.ModTime().UnixNano() != 1e18+7 {
				t.Errorf("mtime %v", st.ModTime())
			}
		}
		var st unix.Stat_t
		must(t, unix.Stat(shm+"/b/sparse", &st))
		if st.Size != 400<<20 || st.Blocks > 100 {
			t.Errorf("sparse: %d bytes, %d blocks", st.Size, st.Blocks)
		}
	})
}

func TestRemoveAllOfWhatMayNotBeWritten(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		dir, root := tree(t)
		deep := "/a" + strings.Repeat("/d", 60)
		must(t, os.MkdirAll(dir+deep, 0o755))
		must(t, os.WriteFile(dir+deep+"/f", nil, 0o400))
		must(t, os.Chmod(dir+"/a/d", 0))
		must(t, os.Chmod(dir+"/a", 0o500)) //nolint:gosec // the case
		must(t, at(t, root, "/a").RemoveAll())
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		must(t, at(t, root, "/a").RemoveAll())
	})
}

// An ACL that a directory hands down is not what the copied file had.
func TestMetaIsExact(t *testing.T) {
	dir, root := tree(t)
	must(t, os.WriteFile(dir+"/f", nil, 0o600))
	for name, value := range map[string]string{"user.a": "1", "user.b": "2", "user.overlay.opaque": "y"} {
		must(t, unix.Setxattr(dir+"/f", name, []byte(value), 0))
	}
	f := at(t, root, "/f")
	m, err := f.Meta()
	must(t, err)
	if len(m.Xattrs) != 2 {
		t.Errorf("%v", m.Xattrs)
	}
	delete(m.Xattrs, "user.a")
	m.Xattrs["user.c"] = []byte("3")
	m.Xattrs["trusted.overlay.opaque"] = []byte("y")
	m.Mode = 0o4711
	must(t, f.SetMeta(m))
	m, err = f.Meta()
	must(t, err)
	if len(m.Xattrs) != 2 || string(m.Xattrs["user.c"]) != "3" || m.Mode != 0o4711 {
		t.Errorf("%+v", m)
	}
	buf := make([]byte, 8)
	if _, err := unix.Getxattr(dir+"/f", "trusted.overlay.opaque", buf); err == nil {
		t.Error("an overlay mark was written")
	}
	if n, _ := unix.Getxattr(dir+"/f", "user.overlay.opaque", buf); n != 1 {
		t.Error("an overlay mark was removed")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
