package base

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"sandbox/engine/entry"
)

func record(path string, data []byte) Record {
	return Record{
		Path: path, Print: entry.PrintBytes(data), SinceNs: 12,
		Host: entry.Entry{
			Type: entry.File, Mode: 0o4755, UID: 1000, GID: 7, Size: int64(len(data)), MtimeNs: -5,
			CtimeNs: 1 << 60, BtimeNs: 3, Dev: 1 << 40, Ino: 99, Nlink: 2,
		},
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, dir string) *Set {
	t.Helper()
	s, err := Load(dir)
	must(t, err)
	return s
}

func size(s *Set) (n int) {
	s.Paths(func(string) { n++ })
	return n
}

func writer(t *testing.T, dir string) *Writer {
	t.Helper()
	w, err := NewWriter(dir)
	must(t, err)
	t.Cleanup(w.Close)
	return w
}

func put(t *testing.T, w *Writer, path, text string) {
	t.Helper()
	must(t, w.Put(record(path, []byte(text)), []byte(text)))
	must(t, w.Flush())
}

func content(t *testing.T, s *Set, path string) string {
	t.Helper()
	r, ok := s.Get(path)
	if !ok {
		t.Fatalf("%s has no record", path)
	}
	data, ok := s.Content(r)
	if !ok {
		t.Fatalf("%s has no content", path)
	}
	return string(data)
}

func TestWhatIsPutComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "base")
	if s := load(t, dir); size(s) != 0 {
		t.Fatal("a missing directory is not empty")
	}
	w := writer(t, dir)
	a := record("/a\n\xff", []byte("hello"))
	must(t, w.Put(a, []byte("hello")))
	link := Record{Path: "/l", Host: entry.Entry{Type: entry.Symlink, Target: "/x\x00"}, Print: entry.PrintTarget("/x\x00"), Deleted: true, SinceNs: 1}
	must(t, w.Put(link, nil))
	must(t, w.Flush())
	s := load(t, dir)
	if content(t, s, a.Path) != "hello" {
		t.Error("the content is another")
	}
	got, _ := s.Get(a.Path)
	got.offset, got.size = 0, 0
	if !reflect.DeepEqual(got, a) {
		t.Errorf("%+v, want %+v", got, a)
	}
	if got, _ := s.Get("/l"); !reflect.DeepEqual(got, link) {
		t.Errorf("%+v, want %+v", got, link)
	}
	if _, ok := s.Content(link); ok {
		t.Error("a link has content")
	}
	var none *Set
	if _, ok := none.Get("/a"); ok {
		t.Error("a nil set knows something")
	}
}

func TestLaterRecordsReplaceEarlier(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir)
	for i := range 3 {
		put(t, w, "/f", fmt.Sprint("version ", i))
	}
	put(t, w, "/g", "g")
	must(t, w.Forget("/g"))
	must(t, w.Flush())
	if s := load(t, dir); size(s) != 1 || content(t, s, "/f") != "version 2" {
		t.Errorf("%d records", size(s))
	}
}

// A crash can tear the last record anywhere: those before stay, and so do
// those that come after.
func TestTornTailIsCutOff(t *testing.T) {
	dir := t.TempDir()
	put(t, writer(t, dir), "/1", "one")
	log := filepath.Join(dir, logFile)
	first, err := os.ReadFile(log)
	must(t, err)
	put(t, writer(t, dir), "/2", "two")
	whole, err := os.ReadFile(log)
	must(t, err)
	for cut := len(first); cut < len(whole); cut++ {
		must(t, os.WriteFile(log, whole[:cut], 0o600))
		if s := load(t, dir); size(s) != 1 || content(t, s, "/1") != "one" {
			t.Fatalf("cut at %d: %d records", cut, size(s))
		}
		w, err := NewWriter(dir)
		must(t, err)
		put(t, w, "/3", "three")
		w.Close()
		if s := load(t, dir); size(s) != 2 || content(t, s, "/1") != "one" || content(t, s, "/3") != "three" {
			t.Fatalf("cut at %d, then written: %d records", cut, size(s))
		}
	}
}

func TestDamagedLogGivesNoWrongRecord(t *testing.T) {
	dir := t.TempDir()
	put(t, writer(t, dir), "/1", "one")
	log := filepath.Join(dir, logFile)
	whole, err := os.ReadFile(log)
	must(t, err)
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 0x55
		must(t, os.WriteFile(log, bad, 0o600))
		if s := load(t, dir); size(s) != 0 {
			t.Fatalf("byte %d was changed and nobody saw it", i)
		}
	}
}

func TestDamagedPackGivesNoContent(t *testing.T) {
	dir := t.TempDir()
	put(t, writer(t, dir), "/1", "one")
	s := load(t, dir)
	r, _ := s.Get("/1")
	pack := filepath.Join(dir, packFile)
	for _, damage := range []func() error{
		func() error { return os.WriteFile(pack, []byte("two"), 0o600) },
		func() error { return os.Truncate(pack, 1) },
		func() error { return os.Remove(pack) },
	} {
		must(t, damage())
		if data, ok := s.Content(r); ok {
			t.Errorf("content %q", data)
		}
	}
}

func TestLargeContentIsNotKept(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir)
	big := make([]byte, MaxContent+1)
	must(t, w.Put(record("/big", big), big))
	must(t, w.Flush())
	if r, ok := load(t, dir).Get("/big"); !ok || r.HasContent() || r.Print != entry.PrintBytes(big) {
		t.Errorf("%v %+v", ok, r)
	}
}

func TestCompact(t *testing.T) {
	dir := t.TempDir()
	w, other := writer(t, dir), writer(t, dir)
	for range 20 {
		put(t, w, "/1", "first content")
		put(t, w, "/2", "second content")
	}
	must(t, w.Forget("/2"))
	must(t, w.Compact())
	if info, err := os.Stat(filepath.Join(dir, packFile)); err != nil || info.Size() < 100 {
		t.Errorf("little was written anew: %v", err)
	}
	must(t, w.compact(0))
	if info, err := os.Stat(filepath.Join(dir, packFile)); err != nil || info.Size() != int64(len("first content")) {
		t.Errorf("contents of %v bytes, %v", info.Size(), err)
	}
	// A writer that had the old files open goes on in the new ones.
	put(t, other, "/3", "third")
	put(t, w, "/4", "fourth")
	s := load(t, dir)
	for path, want := range map[string]string{"/1": "first content", "/3": "third", "/4": "fourth"} {
		if got := content(t, s, path); got != want {
			t.Errorf("%s is %q", path, got)
		}
	}
	if size(s) != 3 {
		t.Errorf("%d records", size(s))
	}
	ents, err := os.ReadDir(dir)
	must(t, err)
	if len(ents) != 3 {
		t.Errorf("left: %v", ents)
	}
}

// An accept and the keeper write at once, and each reads what the other wrote.
func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	done := make(chan error)
	for n := range 2 {
		w := writer(t, dir)
		go func() {
			var err error
			for i := 0; i < 200 && err == nil; i++ {
				data := fmt.Appendf(nil, "%d.%d", n, i)
				if err = w.Put(record("/"+string(data), data), data); err == nil {
					err = w.Flush()
				}
			}
			done <- err
		}()
	}
	tail, followed := NewTail(dir), 0
	count := func(string, bool, bool) { followed++ }
	for range 2 {
		if err := tail.Next(count); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		must(t, <-done)
	}
	must(t, tail.Next(count))
	must(t, tail.Next(count))
	s := load(t, dir)
	if size(s) != 400 || followed != 400 {
		t.Fatalf("%d records, %d followed", size(s), followed)
	}
	s.Paths(func(path string) {
		if got := content(t, s, path); "/"+got != path {
			t.Errorf("%s holds %q", path, got)
		}
	})
}

func TestFortyThousandLoadFast(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir)
	start := time.Now()
	for i := range 40_000 {
		must(t, w.Put(record(fmt.Sprintf("/home/somebody/project/directory-%d/file-%d", i%200, i), nil), nil))
	}
	must(t, w.Flush())
	wrote := time.Since(start)
	start = time.Now()
	s := load(t, dir)
	_, ok := s.Get("/home/somebody/project/directory-0/file-0")
	loaded := time.Since(start)
	t.Logf("40,000 records: written in %v, loaded in %v", wrote, loaded)
	if n := size(s); n != 40_000 || !ok {
		t.Errorf("%d records", n)
	}
	if loaded > 2*time.Second {
		t.Errorf("loading took %v", loaded)
	}
}

func FuzzLog(f *testing.F) {
	r := record("/seed", []byte("x"))
	f.Add(encode(encode(nil, r), Record{Path: "/y", gone: true}))
	f.Fuzz(func(t *testing.T, log []byte) {
		s := &Set{data: log}
		s.Paths(func(path string) {
			if got, ok := s.Get(path); ok && got.Path != path {
				t.Errorf("%q gives %q", path, got.Path)
			}
		})
	})
}
