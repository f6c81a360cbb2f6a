package entry

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func openDir(t *testing.T, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAtDescribesEveryType(t *testing.T) {
	dir := t.TempDir()
	fd := openDir(t, dir)
	must(t, os.WriteFile(filepath.Join(dir, "f"), []byte("abc"), 0o600))
	must(t, unix.Chmod(filepath.Join(dir, "f"), 0o4751))
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	must(t, os.Symlink("/no/such\xff\n", filepath.Join(dir, "l")))
	must(t, os.Symlink(strings.Repeat("x", 4000), filepath.Join(dir, "long")))
	must(t, unix.Mkfifo(filepath.Join(dir, "p"), 0o600))
	must(t, unix.Mknod(filepath.Join(dir, "s"), unix.S_IFSOCK|0o600, 0))

	for name, want := range map[string]Type{"f": File, "d": Dir, "l": Symlink, "p": Fifo, "s": Socket, "none": None} {
		e, err := At(fd, name)
		must(t, err)
		if e.Type != want {
			t.Errorf("%s: type %q, want %q", name, e.Type, want)
		}
	}
	f, err := At(fd, "f")
	must(t, err)
	if f.Mode != 0o4751 || f.Size != 3 || f.Nlink != 1 {
		t.Errorf("f = %+v", f)
	}
	if now := time.Now().UnixNano(); now-f.CtimeNs > int64(time.Hour) || f.BtimeNs == 0 {
		t.Errorf("times of f: %+v", f)
	}
	l, err := At(fd, "l")
	must(t, err)
	if l.Target != "/no/such\xff\n" {
		t.Errorf("target %q", l.Target)
	}
	long, err := At(fd, "long")
	must(t, err)
	if len(long.Target) != 4000 {
		t.Errorf("long target has %d bytes", len(long.Target))
	}
}

func TestOneComponentOnly(t *testing.T) {
	fd := openDir(t, t.TempDir())
	for _, name := range []string{"", ".", "..", "a/b", "/etc", "a/"} {
		if _, err := At(fd, name); !errors.Is(err, unix.EINVAL) {
			t.Errorf("At(%q): %v, want EINVAL", name, err)
		}
		if _, err := PrintOf(fd, name); !errors.Is(err, unix.EINVAL) {
			t.Errorf("PrintOf(%q): %v, want EINVAL", name, err)
		}
		if _, err := Xattrs(fd, name); !errors.Is(err, unix.EINVAL) {
			t.Errorf("Xattrs(%q): %v, want EINVAL", name, err)
		}
	}
}

func TestPrints(t *testing.T) {
	dir := t.TempDir()
	fd := openDir(t, dir)
	big := bytes.Repeat([]byte("0123456789\x00"), 40_000) // larger than one buffer
	must(t, os.WriteFile(filepath.Join(dir, "f"), big, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	must(t, os.Symlink("target", filepath.Join(dir, "l")))
	must(t, unix.Mkfifo(filepath.Join(dir, "p"), 0o600))

	for name, want := range map[string]Print{
		"f":     PrintBytes(big),
		"empty": "file:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"d":     "dir",
		"l":     PrintTarget("target"),
		"p":     "fifo", // and it did not hang
		"none":  PrintNone,
	} {
		got, err := PrintOf(fd, name)
		must(t, err)
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := (Entry{Type: Char, Rdev: unix.Mkdev(1, 3)}).Print(); got != "char_device:1:3" {
		t.Errorf("device: %s", got)
	}
	if !(Entry{Type: Char}).Whiteout() || (Entry{Type: Char, Rdev: unix.Mkdev(1, 3)}).Whiteout() {
		t.Error("whiteouts are character devices 0:0 and nothing else")
	}
}

// A FIFO that is opened, even without blocking, wakes a writer that waits for
// a reader: the writer then writes into nothing.
func TestFifoIsNeverOpened(t *testing.T) {
	dir := t.TempDir()
	fd := openDir(t, dir)
	must(t, unix.Mkfifo(filepath.Join(dir, "p"), 0o600))
	opened := make(chan struct{})
	go func() {
		w, err := os.OpenFile(filepath.Join(dir, "p"), os.O_WRONLY, 0)
		if err == nil {
			w.Close()
		}
		close(opened)
	}()
	time.Sleep(20 * time.Millisecond) // let the writer block in open
	if _, _, err := OpenFile(fd, "p"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("OpenFile: %v", err)
	}
	if _, _, err := ReadFile(fd, "p", -1); !errors.Is(err, ErrNotRegular) {
		t.Errorf("ReadFile: %v", err)
	}
	if _, err := PrintOf(fd, "p"); err != nil {
		t.Errorf("PrintOf: %v", err)
	}
	select {
	case <-opened:
		t.Error("the writer was woken: somebody opened the FIFO for reading")
	case <-time.After(50 * time.Millisecond):
	}
	r, err := os.OpenFile(filepath.Join(dir, "p"), os.O_RDONLY, 0)
	must(t, err)
	r.Close()
	<-opened
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	fd := openDir(t, dir)
	data := bytes.Repeat([]byte("x"), 1000)
	must(t, os.WriteFile(filepath.Join(dir, "f"), data, 0o600))
	must(t, os.Symlink("f", filepath.Join(dir, "l")))

	for _, limit := range []int64{-1, 1000, 5000} {
		got, e, err := ReadFile(fd, "f", limit)
		must(t, err)
		if !bytes.Equal(got, data) || e.Size != 1000 {
			t.Errorf("limit %d: %d bytes, %+v", limit, len(got), e)
		}
	}
	if _, _, err := ReadFile(fd, "f", 999); !errors.Is(err, unix.EFBIG) {
		t.Errorf("limit 999: %v, want EFBIG", err)
	}
	if _, _, err := ReadFile(fd, "l", -1); !errors.Is(err, ErrNotRegular) {
		t.Errorf("symlink: %v, want ErrNotRegular", err)
	}
	if _, _, err := ReadFile(fd, "none", -1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v, want ErrNotExist", err)
	}
}

func TestNoSymlinkIsFollowed(t *testing.T) {
	base := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(base, "real/sub"), 0o755))
	must(t, os.Symlink("real", filepath.Join(base, "link")))
	must(t, os.Symlink("/etc", filepath.Join(base, "abs")))
	root, err := OpenRoot()
	must(t, err)
	defer unix.Close(root)

	for path, want := range map[string]error{
		base + "/real/sub":    nil,
		base + "/real/sub/":   nil,
		base + "/link":        unix.ELOOP,
		base + "/link/sub":    unix.ELOOP,
		base + "/abs":         unix.ELOOP,
		base + "/real/../abs": unix.EINVAL,
		base + "/none":        unix.ENOENT,
		"/proc/self/fd/0":     unix.ELOOP,
		"/":                   nil,
	} {
		fd, err := OpenDirNoLinks(root, path)
		if !errors.Is(err, want) {
			t.Errorf("OpenDirNoLinks(%s): %v, want %v", path, err, want)
		}
		if err == nil {
			unix.Close(fd)
		}
	}

	dir := openDir(t, base)
	for path, want := range map[string]error{
		"real/sub":     nil,
		"/real/sub":    nil,
		"":             nil,
		"link/sub":     unix.ELOOP,
		"link":         unix.ELOOP,
		"abs/passwd":   unix.ELOOP,
		"../" + "real": unix.EINVAL,
	} {
		fd, err := OpenBeneath(dir, path, unix.O_RDONLY)
		if !errors.Is(err, want) {
			t.Errorf("OpenBeneath(%s): %v, want %v", path, err, want)
		}
		if err == nil {
			unix.Close(fd)
		}
	}

	fd, name, err := OpenParent(root, base+"/real/sub")
	must(t, err)
	if e, err := At(fd, name); err != nil || e.Type != Dir || name != "sub" {
		t.Errorf("OpenParent: %q %+v %v", name, e, err)
	}
	unix.Close(fd)
	if _, _, err := OpenParent(root, "/"); !errors.Is(err, unix.EINVAL) {
		t.Errorf("OpenParent(/): %v, want EINVAL", err)
	}
}

func TestPathsLongerThanPathMax(t *testing.T) {
	base := t.TempDir()
	top := openDir(t, base)
	part := strings.Repeat("d", 200)
	path, at := "", top
	for range 40 { // 8000 bytes
		must(t, unix.Mkdirat(at, part, 0o755))
		fd, err := unix.Openat(at, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		t.Cleanup(func() { unix.Close(fd) })
		at, path = fd, path+"/"+part
	}
	fd, err := OpenBeneath(top, path, unix.O_PATH)
	must(t, err)
	defer unix.Close(fd)
	a, err := OfFd(fd)
	must(t, err)
	b, err := OfFd(at)
	must(t, err)
	if !a.SameFile(b) {
		t.Error("another directory was opened")
	}
}

func TestReadDir(t *testing.T) {
	dir := t.TempDir()
	want := []string{"-dash", "new\nline", "\xff\xfe", strings.Repeat("n", 255), ":,\\", ".hidden", "..."}
	for i := range 3000 { // more than one buffer
		want = append(want, strings.Repeat("f", 40)+string(rune('a'+i%26))+strings.Repeat("g", i%100)+"-"+time.Duration(i).String())
	}
	for _, n := range want {
		must(t, os.WriteFile(filepath.Join(dir, n), nil, 0o600))
	}
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	fd, err := Reopen(openDir(t, dir))
	must(t, err)
	defer unix.Close(fd)
	for range 2 { // the second time starts at the beginning again
		list, err := ReadDir(fd)
		must(t, err)
		var got []string
		for _, d := range list {
			if d.Name == "sub" {
				if d.Type != Dir {
					t.Errorf("sub is %q", d.Type)
				}
				continue
			}
			if d.Type != File {
				t.Errorf("%q is %q", d.Name, d.Type)
			}
			got = append(got, d.Name)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("got %d names, want %d", len(got), len(want))
		}
	}
}

func TestXattrs(t *testing.T) {
	dir := t.TempDir()
	fd := openDir(t, dir)
	f := filepath.Join(dir, "-f\n\xff")
	must(t, os.WriteFile(f, nil, 0o600))
	must(t, os.Symlink("-f\n\xff", filepath.Join(dir, "l")))
	big := bytes.Repeat([]byte{0, 1}, 1000)
	must(t, unix.Setxattr(f, "user.big", big, 0))
	must(t, unix.Setxattr(f, "user.empty", nil, 0))
	must(t, unix.Setxattr(f, "user.overlay.opaque", []byte("y"), 0))
	must(t, unix.Setxattr(f, "user.overlayish", []byte("1"), 0))

	got, err := Xattrs(fd, "-f\n\xff")
	must(t, err)
	if len(got) != 3 || !bytes.Equal(got["user.big"], big) || got["user.empty"] == nil || string(got["user.overlayish"]) != "1" {
		t.Errorf("got %q", got)
	}
	if got, err := Xattrs(fd, "l"); err != nil || len(got) != 0 {
		t.Errorf("symlink was followed: %q %v", got, err)
	}
	if _, err := Xattrs(fd, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// Somebody who exchanges a file for a link while it is looked at gets neither
// an error nor a mixture out of us.
func TestAnEntryThatIsExchangedForALinkMeanwhile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", dir+"/b"); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(fd, "a", fd, "b", unix.RENAME_EXCHANGE)
			}
		}
	})
	seen := map[Type]int{}
	for range 50_000 {
		e, err := At(fd, "a")
		if err != nil || (e.Type == Symlink) != (e.Target == "target") {
			t.Fatalf("%+v %v", e, err)
		}
		seen[e.Type]++
	}
	close(stop)
	swapping.Wait()
	if seen[File] == 0 || seen[Symlink] == 0 {
		t.Errorf("nothing was exchanged: %v", seen)
	}
}
