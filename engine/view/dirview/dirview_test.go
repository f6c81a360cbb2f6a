package dirview_test

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
	"sandbox/engine/view/dirview"
	"sandbox/internal/overlaytest"
	"sandbox/internal/testuser"
)

var meta = view.Meta{Mode: 0o640, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), MtimeNs: 1_600_000_000_123456789}

func withView(t *testing.T, fill func(host string), body func(t *testing.T, r *overlaytest.Rig, v *dirview.Dir)) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill)
		v := dirview.New(r.Root)
		v.OnSync = r.Sync
		before := tree(t, r.Host)
		body(t, r, v)
		if after := tree(t, r.Host); after != before {
			t.Errorf("the host changed:\n%s\n---\n%s", before, after)
		}
		if strings.Contains(tree(t, r.M("")), rootfs.TempPrefix) || strings.Contains(tree(t, r.U("")), rootfs.TempPrefix) {
			t.Error("a temporary is left")
		}
	})
}

func TestWriteReplacesEveryType(t *testing.T) {
	fill := func(host string) {
		put(t, host+"/file", "old")
		must(t, os.Mkdir(host+"/dir", 0o755))
		put(t, host+"/dir/in", "x")
		must(t, os.Symlink("file", host+"/link"))
		must(t, unix.Mkfifo(host+"/fifo", 0o600))
	}
	withView(t, fill, func(t *testing.T, r *overlaytest.Rig, v *dirview.Dir) {
		must(t, os.Mkdir(r.M("upperdir"), 0o755))
		put(t, r.M("upperdir/in"), "x")
		for _, name := range []string{"file", "dir", "link", "fifo", "upperdir", "new"} {
			expect, err := v.Print(r.H(name))
			must(t, err)
			must(t, v.Write(r.H(name), content(t, "new\r\n\x00\xff"), meta, expect))
			if got := read(t, r.M(name)); got != "new\r\n\x00\xff" {
				t.Errorf("%s holds %q", name, got)
			}
			st, err := os.Lstat(r.M(name))
			must(t, err)
			if st.Mode() != 0o640 || st.ModTime().UnixNano() != meta.MtimeNs {
				t.Errorf("%s: %v %v", name, st.Mode(), st.ModTime())
			}
		}
	})
}

func TestSymlinkMkdirAndMknodReplaceEveryType(t *testing.T) {
	for _, to := range []string{"symlink", "dir", "fifo", "socket"} {
		t.Run(to, func(t *testing.T) {
			fill := func(host string) {
				put(t, host+"/file", "old")
				must(t, os.Mkdir(host+"/dir", 0o755))
				put(t, host+"/dir/in", "x")
				must(t, os.Symlink("file", host+"/link"))
				must(t, unix.Mkfifo(host+"/fifo", 0o600))
			}
			withView(t, fill, func(t *testing.T, r *overlaytest.Rig, v *dirview.Dir) {
				for _, name := range []string{"file", "dir", "link", "fifo", "new"} {
					expect, err := v.Print(r.H(name))
					must(t, err)
					switch to {
					case "symlink":
						err = v.Symlink(r.H(name), "over there", meta, expect)
					case "dir":
						err = v.Mkdir(r.H(name), view.Meta{Mode: 0o751, UID: meta.UID, GID: meta.GID}, expect)
					case "fifo", "socket":
						err = v.Mknod(r.H(name), entry.Type(to), meta, expect)
					}
					must(t, err)
					got, err := v.Print(r.H(name))
					must(t, err)
					if !strings.HasPrefix(string(got), to) {
						t.Errorf("%s became %s", name, got)
					}
				}
				if to == "dir" {
					if got := read(t, r.M("dir/in")); got != "x" {
						t.Errorf("a directory that was there lost its content: %q", got)
					}
				}
			})
		})
	}
}

func TestAnotherPrintIsStaleAndNothingChanges(t *testing.T) {
	fill := func(host string) { put(t, host+"/file", "old"); must(t, os.Mkdir(host+"/dir", 0o755)) }
	withView(t, fill, func(t *testing.T, r *overlaytest.Rig, v *dirview.Dir) {
		put(t, r.M("mine"), "mine")
		before := tree(t, r.M(""))
		other := entry.PrintBytes([]byte("something else"))
		for what, err := range map[string]error{
			"write over":             v.Write(r.H("file"), content(t, "new"), meta, other),
			"write where nothing":    v.Write(r.H("absent"), content(t, "new"), meta, other),
			"write new over old":     v.Write(r.H("file"), content(t, "new"), meta, entry.PrintNone),
			"symlink over":           v.Symlink(r.H("file"), "x", meta, other),
			"mkdir new over dir":     v.Mkdir(r.H("dir"), meta, entry.PrintNone),
			"mkdir over":             v.Mkdir(r.H("file"), meta, other),
			"mknod over":             v.Mknod(r.H("file"), entry.Fifo, meta, other),
			"remove":                 v.Remove(r.H("mine"), other),
			"remove nothing":         v.Remove(r.H("absent"), other),
			"remove empty, but file": v.Remove(r.H("file"), view.EmptyDir),
		} {
			if !errors.Is(err, &fault.Error{Code: fault.Stale}) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if after := tree(t, r.M("")); after != before {
			t.Errorf("the view changed:\n%s\n---\n%s", before, after)
		}
	})
}

func TestRemove(t *testing.T) {
	fill := func(host string) {
		put(t, host+"/file", "x")
		must(t, os.MkdirAll(host+"/dir/a/b", 0o755))
		put(t, host+"/dir/a/b/c", "x")
	}
	withView(t, fill, func(t *testing.T, r *overlaytest.Rig, v *dirview.Dir) {
		must(t, os.MkdirAll(r.M("new/a"), 0o755))
		put(t, r.M("new/a/f"), "x")
		must(t, os.Chmod(r.M("new/a"), 0o500)) //nolint:gosec // the case
		must(t, os.Mkdir(r.M("empty"), 0o755))
		if err := v.Remove(r.H("new"), view.EmptyDir); fault.CodeOf(err) != fault.Stale {
			t.Errorf("a directory that is not empty: %v", err)
		}
		must(t, v.Remove(r.H("empty"), view.EmptyDir))
		must(t, v.Remove(r.H("new"), "dir"))
		must(t, v.Remove(r.H("dir"), "dir"))
		must(t, v.Remove(r.H("file"), entry.PrintBytes([]byte("x"))))
		must(t, v.Remove(r.H("absent"), entry.PrintNone))
		must(t, v.Remove(r.H("no/such"), entry.PrintNone))
		if got := tree(t, r.M("")); got != "" {
			t.Errorf("left: %s", got)
		}
		must(t, v.Sync())
		if got := tree(t, r.M("")); got != "" {
			t.Errorf("came back after a sync: %s", got)
		}
	})
}

func TestNoSymlinkIsFollowed(t *testing.T) {
	outside := t.TempDir()
	fill := func(host string) {
		must(t, os.Mkdir(host+"/real", 0o755))
		put(t, host+"/real/f", "x")
		must(t, os.Symlink("real", host+"/link"))
		must(t, os.Symlink(outside, host+"/out"))
	}
	withView(t, fill, func(t *testing.T, r *overlaytest.Rig, v *dirview.Dir) {
		for what, err := range map[string]error{
			"write":   v.Write(r.H("link/f"), content(t, "new"), meta, ""),
			"out":     v.Write(r.H("out/f"), content(t, "new"), meta, ""),
			"mkdir":   v.Mkdir(r.H("out/d"), meta, ""),
			"remove":  v.Remove(r.H("link/f"), ""),
			"setattr": v.Setattr(r.H("link/f"), meta),
		} {
			if !errors.Is(err, unix.ELOOP) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if print, err := v.Print(r.H("link/f")); print != entry.PrintNone || err != nil {
			t.Errorf("print: %v %v", print, err)
		}
		// A link itself is written, never what it points to.
		must(t, v.Write(r.H("link"), content(t, "new"), meta, ""))
		must(t, v.Remove(r.H("out"), ""))
		if read(t, r.M("real/f")) != "x" || read(t, r.M("link")) != "new" {
			t.Error("the target of a link was written")
		}
	})
}

func TestSetattr(t *testing.T) {
	fill := func(host string) { put(t, host+"/file", "x") }
	withView(t, fill, func(t *testing.T, r *overlaytest.Rig, v *dirview.Dir) {
		m := meta
		m.Xattrs = map[string][]byte{"user.colour": []byte("r\x00d"), "user.overlay.opaque": []byte("y")}
		must(t, v.Setattr(r.H("file"), m))
		at, err := rootfs.FromFD(r.Root).At(r.H("file"))
		must(t, err)
		defer at.Close()
		got, err := at.Meta()
		must(t, err)
		if got.Mode != m.Mode || got.MtimeNs != m.MtimeNs || string(got.Xattrs["user.colour"]) != "r\x00d" || len(got.Xattrs) != 1 {
			t.Errorf("got %+v", got)
		}
		must(t, v.Setattr(r.H("file"), meta))
		if got, _ = at.Meta(); len(got.Xattrs) != 0 {
			t.Errorf("xattrs stay: %v", got.Xattrs)
		}
	})
}

func TestNamesOfAnyBytes(t *testing.T) {
	withView(t, nil, func(t *testing.T, r *overlaytest.Rig, v *dirview.Dir) {
		for _, name := range []string{"a\nb", "\xff\xfe", strings.Repeat("n", 255), "we:ird, \\ \"x\t", "-rf", " ", ".wh.x"} {
			must(t, v.Write(r.H(name), content(t, name), meta, entry.PrintNone))
			if read(t, r.M(name)) != name {
				t.Errorf("%q", name)
			}
		}
	})
}

func content(t *testing.T, s string) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	_, err = f.WriteString(s)
	must(t, err)
	return f
}

func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		st, err := os.Lstat(path)
		must(t, err)
		line := path[len(dir):] + " " + st.Mode().String()
		switch {
		case st.Mode().IsRegular():
			line += " " + read(t, path)
		case st.Mode()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += " " + to
		}
		b.WriteString(line + "\n")
		return nil
	}))
	return b.String()
}

func put(t *testing.T, path, data string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(data), 0o600))
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
