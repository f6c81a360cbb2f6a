package renames

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// verdict interprets the filter.
func verdict(t *testing.T, code []unix.SockFilter, arch, nr uint32) uint32 {
	t.Helper()
	var acc uint32
	for pc := 0; pc < len(code); pc++ {
		switch in := code[pc]; in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = map[uint32]uint32{offNr: nr, offArch: arch}[in.K]
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			if acc == in.K {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		default:
			t.Fatalf("instruction %#x", in.Code)
		}
	}
	t.Fatal("the program ran off its end")
	return 0
}

func TestTheFilterReportsRenamesOnly(t *testing.T) {
	code := filter(nativeArch, reported())
	for _, nr := range reported() {
		if got := verdict(t, code, nativeArch, nr); got != unix.SECCOMP_RET_USER_NOTIF {
			t.Errorf("%d: %#x", nr, got)
		}
		for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_RISCV64, 0} {
			if got := verdict(t, code, arch, nr); got != unix.SECCOMP_RET_ALLOW {
				t.Errorf("%d of another architecture: %#x", nr, got)
			}
		}
		if got := verdict(t, code, nativeArch, nr|0x40000000); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("%d of x32: %#x", nr, got)
		}
	}
	for nr := range uint32(600) {
		want := uint32(unix.SECCOMP_RET_ALLOW)
		for _, r := range reported() {
			if r == nr {
				want = unix.SECCOMP_RET_USER_NOTIF
			}
		}
		if got := verdict(t, code, nativeArch, nr); got != want {
			t.Errorf("%d: %#x, want %#x", nr, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	cwd := uint64(0xffffffffffffff9c)
	for _, tt := range []struct {
		name string
		n    notif
		want call
		ok   bool
	}{
		{"renameat", notif{arch: nativeArch, nr: unix.SYS_RENAMEAT, args: [6]uint64{cwd, 7, 5, 8, ^uint64(0)}}, call{unix.AT_FDCWD, 5, 7, 8, 0}, true},
		{"renameat2", notif{arch: nativeArch, nr: unix.SYS_RENAMEAT2, args: [6]uint64{3, 7, cwd, 8, 1}}, call{3, unix.AT_FDCWD, 7, 8, 1}, true},
		{"a descriptor with high bits", notif{arch: nativeArch, nr: unix.SYS_RENAMEAT2, args: [6]uint64{1<<40 | 3, 7, 4, 8, 0}}, call{3, 4, 7, 8, 0}, true},
		{"exchange", notif{arch: nativeArch, nr: unix.SYS_RENAMEAT2, args: [6]uint64{3, 7, 4, 8, unix.RENAME_EXCHANGE}}, call{3, 4, 7, 8, 2}, false},
		{"whiteout", notif{arch: nativeArch, nr: unix.SYS_RENAMEAT2, args: [6]uint64{3, 7, 4, 8, unix.RENAME_WHITEOUT}}, call{3, 4, 7, 8, 4}, false},
		{"unknown flag", notif{arch: nativeArch, nr: unix.SYS_RENAMEAT2, args: [6]uint64{3, 7, 4, 8, 1 << 31}}, call{3, 4, 7, 8, 1 << 31}, false},
		{"another architecture", notif{arch: unix.AUDIT_ARCH_I386, nr: unix.SYS_RENAMEAT}, call{}, false},
		{"another call", notif{arch: nativeArch, nr: unix.SYS_LINKAT}, call{}, false},
		{"no call at all", notif{arch: nativeArch, nr: -1}, call{}, false},
	} {
		if got, ok := parse(&tt.n); ok != tt.ok || (ok && got != tt.want) {
			t.Errorf("%s: %+v %v", tt.name, got, ok)
		}
	}
}

// A path is read up to its end, at the very end of what is mapped too, and
// nothing is made of what is none.
func TestReadPathFromHostileMemory(t *testing.T) {
	page := unix.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 4*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	if err := unix.Mprotect(mem[3*page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	base := uint64(uintptr(unsafe.Pointer(&mem[0])))
	end := 3 * page
	put := func(at int, s string) uint64 { copy(mem[at:], s); return base + uint64(at) }
	long := strings.Repeat("x", pathMax-1)
	var buf [pathMax]byte
	for _, tt := range []struct {
		name string
		addr uint64
		want string
		ok   bool
	}{
		{"plain", put(10, "a/b\x00"), "a/b", true},
		{"across a page", put(page-2, "abcd\x00"), "abcd", true},
		{"empty", put(20, "\x00"), "", false},
		{"longest", put(page+200, long+"\x00"), long, true},
		{"null", 0, "", false},
		{"not mapped", base + uint64(end), "", false},
		{"the end of memory", ^uint64(0) - 2, "", false},
	} {
		if got, ok := readPath(unix.Getpid(), tt.addr, &buf); ok != tt.ok || (ok && got != tt.want) {
			t.Errorf("%s: %d bytes %v", tt.name, len(got), ok)
		}
	}
	for i := range end {
		mem[i] = 'y'
	}
	if _, ok := readPath(unix.Getpid(), base+5, &buf); ok {
		t.Error("a path longer than PATH_MAX was taken")
	}
	mem[end-1] = 0
	if got, ok := readPath(unix.Getpid(), base+uint64(end-4), &buf); !ok || got != "yyy" {
		t.Errorf("at the end of what is mapped: %q %v", got, ok)
	}
	mem[end-1] = 'y'
	if _, ok := readPath(unix.Getpid(), base+uint64(end-4), &buf); ok {
		t.Error("a path that runs into unmapped memory was taken")
	}
}

func FuzzFieldOf(f *testing.F) {
	f.Add([]byte("Name:\tx\nPPid:\t12\nSeccomp_filters:\t2\n"), "PPid")
	f.Add([]byte("PPid:"), "PPid")
	f.Fuzz(func(t *testing.T, status []byte, key string) {
		if v, ok := fieldOf(status, key); ok && strings.Contains(v, "\n") {
			t.Errorf("%q", v)
		}
	})
}

// openTemp opens a directory on the file system of the tests.
func openTemp(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	return fd
}

func write(t *testing.T, dir int, name, text string) {
	t.Helper()
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
	if err == nil {
		_, err = unix.Write(fd, []byte(text))
		_ = unix.Close(fd)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func read(dir int, name string) string {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err.Error()
	}
	defer unix.Close(fd)
	b := make([]byte, 100)
	n, _ := unix.Read(fd, b)
	return string(b[:n])
}

func mkdirs(t *testing.T, dir int, names ...string) {
	t.Helper()
	for _, n := range names {
		if err := unix.Mkdirat(dir, n, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// What others do in the old tree between the build and the drain is not lost.
func TestDrainMovesWhatCameMeanwhile(t *testing.T) {
	d := openTemp(t)
	mkdirs(t, d, "old", "old/sub")
	for _, n := range []string{"old/keep", "old/replaced", "old/taken", "old/sub/x", "old/gone"} {
		write(t, d, n, "1")
	}
	b := builder{root: place{d, "new"}, tree: tally{uid: uint32(unix.Geteuid())}}
	root, err := b.dir(place{d, "old"}, place{d, "new"})
	if err != nil {
		t.Fatal(err)
	}
	// late-comers
	write(t, d, "old/late", "late")
	mkdirs(t, d, "old/latedir")
	write(t, d, "old/latedir/f", "late")
	write(t, d, "old/sub/late", "late")
	write(t, d, "tmp", "2")
	if err := unix.Renameat(d, "tmp", d, "old/replaced"); err != nil { // saved by rename
		t.Fatal(err)
	}
	_ = unix.Unlinkat(d, "old/gone", 0)
	write(t, d, "old/both", "old")
	write(t, d, "new/both", "new")
	err = (&drainer{}).dir(place{d, "old"}, place{d, "new"}, root)
	if err != unix.EEXIST {
		t.Errorf("drain: %v, want EEXIST for what is in both", err)
	}
	for name, want := range map[string]string{
		"new/keep": "1", "new/replaced": "2", "new/sub/x": "1", "new/late": "late", "new/latedir/f": "late",
		"new/sub/late": "late", "new/both": "new", "old/both": "old", "old/keep": unix.ENOENT.Error(),
		"old/sub/x": unix.ENOENT.Error(), "old/late": unix.ENOENT.Error(),
	} {
		if got := read(d, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The numbers that an overlay shows for a file change when the kernel forgets it.
func TestDrainKnowsAFileWhoseNumberChanged(t *testing.T) {
	d := openTemp(t)
	mkdirs(t, d, "old")
	write(t, d, "old/f", "1")
	b := builder{root: place{d, "new"}, tree: tally{uid: uint32(unix.Geteuid())}}
	root, err := b.dir(place{d, "old"}, place{d, "new"})
	if err != nil {
		t.Fatal(err)
	}
	root.kids["f"].src.ino++
	root.kids["f"].dst.ino++
	if err := (&drainer{}).dir(place{d, "old"}, place{d, "new"}, root); err != nil {
		t.Fatal(err)
	}
	if read(d, "new/f") != "1" {
		t.Error("the file is gone")
	}
}

func TestLimits(t *testing.T) {
	tl := tally{entries: maxEntries}
	if errno := tl.add(&unix.Stat_t{}); errno != unix.E2BIG {
		t.Errorf("too many: %v", errno)
	}
	tl = tally{}
	if errno := tl.add(&unix.Stat_t{Mode: unix.S_IFREG, Blocks: maxBytes/512 + 1}); errno != unix.E2BIG {
		t.Errorf("too large: %v", errno)
	}
	if errno := tl.add(&unix.Stat_t{Mode: unix.S_IFREG, Size: 1 << 50}); errno != 0 && tl.bytes == 0 {
		t.Errorf("a sparse file counts by its size: %v", errno)
	}
	tl = tally{uid: 7}
	if errno := tl.add(&unix.Stat_t{Mode: unix.S_IFDIR, Uid: 8}); errno != unix.EPERM {
		t.Errorf("a foreign directory: %v", errno)
	}
	d := openTemp(t)
	name := "d"
	at := d
	for range maxDepth + 2 {
		mkdirs(t, at, name)
		next, err := openDir(at, name)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(next)
		at = next
	}
	if _, errno := survey(place{d, "d"}); errno != unix.E2BIG {
		t.Errorf("too deep: %v", errno)
	}
}

// An init that was killed at any moment of a move leaves a state that the next
// start undoes or completes.
func TestRecoveryAfterEachStep(t *testing.T) {
	for _, tt := range []struct {
		name      string
		built     bool // the temporary tree is there
		committed bool // it took the target's name
		noted     bool // and the journal says so
		drained   bool // half of the old tree is gone
		want      string
	}{
		{"before", false, false, false, false, "old"},
		{"built", true, false, false, false, "old"},
		{"committed", true, true, false, false, "new"},
		{"noted", true, true, true, false, "new"},
		{"half drained", true, true, true, true, "new"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, storage := openTemp(t), openTemp(t)
			mkdirs(t, d, "old", "old/sub")
			write(t, d, "old/a", "1")
			write(t, d, "old/sub/b", "2")
			j := &journal{dir: storage}
			m := &move{from: place{d, "old"}, to: place{d, "new"}}
			r, err := j.begin(m)
			if err != nil {
				t.Fatal(err)
			}
			if tt.built {
				b := builder{root: place{d, r.Temp}, tree: tally{uid: uint32(unix.Geteuid())}}
				if _, err := b.dir(m.from, place{d, r.Temp}); err != nil {
					t.Fatal(err)
				}
			}
			if tt.committed {
				if err := unix.Renameat(d, r.Temp, d, "new"); err != nil {
					t.Fatal(err)
				}
			}
			if tt.noted {
				j.committed(r)
			}
			if tt.drained {
				_ = unix.Unlinkat(d, "old/a", 0)
			}
			again, err := j.read()
			if err != nil {
				t.Fatal(err)
			}
			if err := again.finish(); err != nil {
				t.Fatal(err)
			}
			names, _ := readNames(d)
			if strings.Join(names, " ") != tt.want {
				t.Errorf("left: %q", names)
			}
			if read(d, tt.want+"/a") != "1" || read(d, tt.want+"/sub/b") != "2" {
				t.Error("a file is missing")
			}
		})
	}
}

// A journal, and the paths in it, may be anything by the time it is read.
func TestRecoveryTouchesNothingElse(t *testing.T) {
	d, storage := openTemp(t), openTemp(t)
	mkdirs(t, d, "old", "new", "outside")
	write(t, d, "old/mine", "1")
	write(t, d, "new/other", "2")
	write(t, d, "outside/x", "3")
	j := &journal{dir: storage}
	r, err := j.begin(&move{from: place{d, "old"}, to: place{d, "new"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.finish(); err != nil || read(d, "old/mine") != "1" || read(d, "new/other") != "2" {
		t.Errorf("trees that have nothing in common: %v", err)
	}
	if err := unix.Symlinkat("outside", d, r.Temp); err != nil {
		t.Fatal(err)
	}
	if err := r.finish(); err != nil || read(d, "outside/x") != "3" {
		t.Errorf("a link in place of the temporary tree: %v", err)
	}
	r.FromName = []byte("../outside")
	if err := r.finish(); err != unix.EINVAL {
		t.Errorf("a name with a slash: %v", err)
	}
	for range 200 {
		junk := make([]byte, rand.IntN(100))
		for i := range junk {
			junk[i] = byte(rand.IntN(256))
		}
		write(t, storage, JournalFile, string(junk))
		if _, err := j.read(); err == nil {
			t.Errorf("read %q", junk)
		}
	}
}
