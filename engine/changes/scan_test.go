package changes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/internal/overlaytest"
	"sandbox/internal/testuser"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file and the directories above it.
func write(t testing.TB, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
}

// fill writes name, content, name, content … below a directory.
func fill(t testing.TB, files ...string) func(string) {
	return func(host string) {
		for i := 0; i < len(files); i += 2 {
			write(t, filepath.Join(host, files[i]), files[i+1])
		}
	}
}

func privileged(r *overlaytest.Rig) bool { return r.Xattr != changes.UserXattr }

func scan(t testing.TB, tree changes.Tree) *changes.Set {
	t.Helper()
	set, err := changes.Scan(context.Background(), tree, changes.Options{})
	must(t, err)
	return set
}

var signs = map[changes.Kind]string{
	changes.Added: "+", changes.Modified: "~", changes.Deleted: "-",
	changes.Renamed: ">", changes.TypeChanged: "t", changes.Attributes: "a",
}

// show writes rows as a story: sign, path, where from, and what is special.
func show(root string, set *changes.Set) []string {
	rel := func(p string) string { return strings.TrimPrefix(strings.TrimPrefix(p, root), "/") }
	var out []string
	for _, c := range set.Changes {
		s := signs[c.Kind] + " " + rel(c.Path)
		if c.From != "" {
			s += " < " + rel(c.From)
		}
		if c.Redirect {
			s += " [redirect]"
		}
		if c.Conflict {
			s += " [conflict]"
		}
		out = append(out, s)
	}
	for _, p := range set.Unreadable {
		out = append(out, "unreadable "+rel(p))
	}
	return out
}

func expect(t *testing.T, r *overlaytest.Rig, want ...string) *changes.Set {
	t.Helper()
	set := scan(t, r.Tree())
	same(t, show(r.Host, set), want)
	consistent(t, r, set)
	return set
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("changes:\n  %q\nwant:\n  %q", got, want)
	}
}

// consistent checks what must hold for every row of every scan: both sides are
// what the disk says, the rows are in order, and One agrees with Scan.
func consistent(t *testing.T, r *overlaytest.Rig, set *changes.Set) {
	t.Helper()
	if !slices.IsSortedFunc(set.Changes, func(a, b changes.Change) int { return strings.Compare(a.Path, b.Path) }) {
		t.Error("rows are not in order")
	}
	for i, c := range set.Changes {
		if i > 0 && set.Changes[i-1].Path == c.Path {
			t.Errorf("%q is listed twice", c.Path)
		}
		rel := strings.TrimPrefix(c.Path, r.Host)
		if got := lstatType(r.M(rel)); got != c.Sandbox.Type {
			t.Errorf("%q: the sandbox has %s, the row says %s", c.Path, got, c.Sandbox.Type)
		}
		host := c.Path
		if c.From != "" {
			host = c.From
		}
		if got := lstatType(host); got != c.Host.Type && !movedAway(set, host) {
			t.Errorf("%q: the host has %s, the row says %s", c.Path, got, c.Host.Type)
		}
		if (c.Upper == "") != (lstatType(r.U(rel)) == entry.None) {
			t.Errorf("%q: upper is %q", c.Path, c.Upper)
		}
		one, err := changes.One(context.Background(), r.Tree(), c.Path, changes.Options{})
		if err != nil {
			t.Errorf("One(%q): %v", c.Path, err)
		} else if !reflect.DeepEqual(one, c) {
			t.Errorf("One(%q):\n  %+v\nScan:\n  %+v", c.Path, one, c)
		}
	}
}

// movedAway says that a redirect takes what the host has there to another place.
func movedAway(set *changes.Set, host string) bool {
	return slices.ContainsFunc(set.Changes, func(c changes.Change) bool {
		return c.Redirect && strings.HasPrefix(host+"/", c.From+"/")
	})
}

func lstatType(path string) entry.Type {
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return entry.None
	}
	defer unix.Close(dir)
	e, err := entry.At(dir, filepath.Base(path))
	if err != nil {
		return entry.None
	}
	return e.Type
}

// Each case is what a program does in the sandbox, and what a user must read.
func TestWhatProgramsDo(t *testing.T) {
	cases := []struct {
		name   string
		host   []string
		script string
		user   []string // mode U
		root   []string // mode P; nil: as user
	}{
		{"nothing", []string{"a", "1\n"}, `cat a; ls -la; [ ! -e none ]`, nil, nil},
		{"a new file", nil, `echo x >n`, []string{"+ n"}, nil},
		{"sed -i", []string{"a", "one\ntwo\n"}, `sed -i s/one/1/ a`, []string{"~ a"}, nil},
		{"append", []string{"d/a", "one\n"}, `echo more >>d/a`, []string{"~ d/a"}, nil},
		{"same bytes written again", []string{"a", "one\n"}, `cp a b; cat b >a; rm b`, nil, nil},
		{"only the times", []string{"d/a", "one\n"}, `touch d/a d; touch -d 2001-01-01 d/a`, nil, nil},
		{"same size, other bytes", []string{"a", "one\n"}, `printf 'two\n' >a`, []string{"~ a"}, nil},
		{"emptied", []string{"a", "one\n"}, `: >a`, []string{"~ a"}, nil},
		{"chmod", []string{"a", "1\n", "d/b", "1\n"}, `chmod 755 a; chmod 700 d`, []string{"a a", "a d"}, nil},
		{"chmod and back", []string{"a", "1\n"}, `chmod 600 a; chmod 644 a`, nil, nil},
		{"rm", []string{"a", "1\n"}, `rm a`, []string{"- a"}, nil},
		{"rm -r lists all below", []string{"d/a", "1", "d/s/b", "2", "e", ""}, `rm -r d`, []string{"- d", "- d/a", "- d/s", "- d/s/b"}, nil},
		{"a new tree lists all below", nil, `mkdir -p d/s; echo 1 >d/s/f`, []string{"+ d", "+ d/s", "+ d/s/f"}, nil},
		{"made and removed again", []string{"d/a", "1"}, `mkdir d/n; echo >d/n/f; rm -r d/n; echo >x; rm x`, nil, nil},
		{"file becomes directory", []string{"a", "1\n"}, `rm a; mkdir a; echo >a/f`, []string{"t a", "+ a/f"}, nil},
		{"directory becomes file", []string{"d/a", "1", "d/s/b", "2"}, `rm -r d; echo now >d`, []string{"t d", "- d/a", "- d/s", "- d/s/b"}, nil},
		{"file becomes link", []string{"a", "1\n", "b", "1\n"}, `ln -sf b a`, []string{"t a"}, nil},
		{"directory becomes link", []string{"d/a", "1\n", "e/x", ""}, `rm -r d; ln -s e d`, []string{"t d", "- d/a"}, nil},
		{"a link is moved", []string{"a", "1\n"}, `ln -s a l`, []string{"+ l"}, nil},
		{"fifo", []string{"a", "1\n"}, `mkfifo p; rm a; mkfifo a`, []string{"t a", "+ p"}, nil},
		{
			"rm -r and mkdir hide the old content",
			[]string{"d/a", "1", "d/s/b", "2"},
			`rm -r d; mkdir d; echo new >d/n`,
			[]string{"- d/a", "+ d/n", "- d/s", "- d/s/b"},
			nil,
		},
		{
			"in a replaced directory the same file is no change",
			[]string{"d/a", "1", "d/b", "2"},
			`rm -r d; mkdir d; printf 1 >d/a`,
			[]string{"- d/b"},
			nil,
		},
		{
			"a replaced directory below a replaced one",
			[]string{"d/s/a", "1", "d/s/b", "2"},
			`rm -r d; mkdir -p d/s; printf 1 >d/s/a`,
			[]string{"- d/s/b"},
			nil,
		},
		{"mv of a file", []string{"a", "content\n"}, `mv a b`, []string{"> b < a"}, nil},
		{"mv of a file into a new directory", []string{"a", "content\n"}, `mkdir d; mv a d/a`, []string{"+ d", "> d/a < a"}, nil},
		{"mv and edit", []string{"a", "1\n2\n3\n4\n5\n6\n"}, `mv a b; sed -i s/3/three/ b`, []string{"> b < a"}, nil},
		{"mv and rewrite", []string{"a", "1\n2\n3\n"}, `rm a; printf 'x\ny\nz\n' >b`, []string{"- a", "+ b"}, nil},
		{"mv of an empty file is no proof", []string{"a", ""}, `mv a b`, []string{"- a", "+ b"}, nil},
		{"mv over another file", []string{"a", "A\n", "b", "B\n"}, `mv a b`, []string{"- a", "~ b"}, nil},
		{
			"identical files keep their names",
			[]string{"p/LICENSE", "MIT\n", "q/COPY", "MIT\n"},
			`mkdir y; mv q/COPY y/COPY; mv p/LICENSE y/LICENSE`,
			[]string{"+ y", "> y/COPY < q/COPY", "> y/LICENSE < p/LICENSE"},
			nil,
		},
		{
			"a directory moved by copy keeps the places in it",
			[]string{"d/a", "1\n", "d/b", "content\n", "d/e", "", "d/s/c", "x\n", "d/s/init", "same\n", "d/init", "same\n", "d/z/init", "same\n"},
			`cp -a d n; rm -r d; printf 'all\nnew\n' >n/a; echo more >n/e2; rm n/s/c`,
			[]string{
				"- d", "- d/s", "- d/s/c", "- d/z", "+ n", "> n/a < d/a", "> n/b < d/b", "> n/e < d/e", "+ n/e2",
				"> n/init < d/init", "+ n/s", "> n/s/init < d/s/init", "+ n/z", "> n/z/init < d/z/init",
			},
			nil,
		},
		{
			"a directory of which little is found elsewhere did not move",
			[]string{"d/a", "1\n", "d/b", "2\n", "d/c", "3\n", "d/e", ""},
			`mkdir n; mv d/a n/a; rm -r d; echo other >n/b; touch n/e`,
			[]string{"- d", "- d/b", "- d/c", "- d/e", "+ n", "> n/a < d/a", "+ n/b", "+ n/e"},
			nil,
		},
		{
			"a part of a directory moved by copy",
			[]string{"d/s/a", "1\n", "d/s/e", "", "d/x", "2\n"},
			`mkdir n; cp -a d/s n/s; rm -r d`,
			[]string{"- d", "- d/s", "- d/x", "+ n", "+ n/s", "> n/s/a < d/s/a", "> n/s/e < d/s/e"},
			nil,
		},
		{
			"mv of a directory",
			[]string{"d/a", "content\n", "d/s/b", "other\n"},
			`mv d e`,
			[]string{"- d", "- d/s", "+ e", "> e/a < d/a", "+ e/s", "> e/s/b < d/s/b"},
			[]string{"> e < d [redirect]"},
		},
		{
			"mv of a directory and an edit in it",
			[]string{"d/a", "1\n2\n3\n4\n", "d/b", "gone\n", "d/s/c", "x\n"},
			`mv d e; sed -i s/2/two/ e/a; rm e/b; echo n >e/s/n`,
			[]string{"- d", "- d/b", "- d/s", "+ e", "> e/a < d/a", "+ e/s", "> e/s/c < d/s/c", "+ e/s/n"},
			[]string{"> e < d [redirect]", "~ e/a < d/a", "- e/b < d/b", "+ e/s/n"},
		},
		{
			"mv of a directory into another one, and again",
			[]string{"d/s/a", "content\n", "e/x", "x\n"},
			`mv d/s e/t; mv e/t e/u`,
			[]string{"- d/s", "+ e/u", "> e/u/a < d/s/a"},
			[]string{"> e/u < d/s [redirect]"},
		},
		{
			"mv of a directory out of one that is removed",
			[]string{"d/s/a", "content\n", "d/x", "x\n"},
			`mv d/s t; rm -r d`,
			[]string{"- d", "- d/s", "- d/x", "+ t", "> t/a < d/s/a"},
			[]string{"- d", "- d/x", "> t < d/s [redirect]"},
		},
		{
			"mv of a directory, and a new one at the old place",
			[]string{"d/a", "content\n", "d/b", "more\n"},
			`mv d e; mkdir d; printf 'content\n' >d/a`,
			[]string{"+ e", "+ e/a", "> e/b < d/b"},
			[]string{"+ d", "+ d/a", "> e < d [redirect]"},
		},
		{
			"mv of a directory, and another file at the old place",
			[]string{"d/a", "content\n", "d/b", "more\n", "x/y", "1\n"},
			`mv d e; mkdir d; echo other >d/a; mv x d/x`,
			[]string{"~ d/a", "+ d/x", "> d/x/y < x/y", "+ e", "+ e/a", "> e/b < d/b", "- x"},
			[]string{"+ d", "+ d/a", "> d/x < x [redirect]", "> e < d [redirect]"},
		},
		{
			"mv of a directory over a removed one",
			[]string{"d/a", "content\n", "e/a", "old\n", "e/b", "gone\n"},
			`rm -r e; mv d e`,
			[]string{"- d", "- d/a", "~ e/a", "- e/b"},
			[]string{"> e < d [redirect]", "- e/b"},
		},
		{
			"two directories change places",
			[]string{"d/a", "in d\n", "e/b", "in e\n"},
			`mv d t; mv e d; mv t e`,
			[]string{"> d/b < e/b", "> e/a < d/a"},
			[]string{"> d < e [redirect]", "> e < d [redirect]"},
		},
		{
			"mv there and back",
			[]string{"d/a", "content\n"},
			`mv d e; mv e d`,
			nil, nil,
		},
		{
			"names of any bytes",
			[]string{"-dash", "1\n", "new\nline", "1\n", "\xff\xfe", "1\n", "a:b,c\\d", "1\n", strings.Repeat("n", 255), "1\n"},
			`for f in *; do echo 2 >>"./$f"; done; rm ./-dash`,
			[]string{"- -dash", "~ a:b,c\\d", "~ new\nline", "~ " + strings.Repeat("n", 255), "~ \xff\xfe"},
			nil,
		},
		{"a name that looks like another tool's whiteout", []string{"a", "1\n"}, `echo x >.wh.a; echo y >.wh..wh..opq`, []string{"+ .wh..wh..opq", "+ .wh.a"}, nil},
		{"a file without permissions", []string{"a", "1\n"}, `chmod 000 a; echo x >n; chmod 000 n`, []string{"~ a", "+ n"}, []string{"a a", "+ n"}},
		{
			"a directory without permissions",
			[]string{"d/a", "1\n"},
			`echo 2 >d/a; chmod 000 d; mkdir n; echo >n/f; chmod 000 n; echo >z`,
			[]string{"a d", "+ n", "+ z", "unreadable d", "unreadable n"},
			[]string{"a d", "~ d/a", "+ n", "+ n/f", "+ z"},
		},
		{"links to nowhere, to itself, to /", nil, `ln -s nowhere a; ln -s b b; ln -s / c; ln -s ../../.. d`, []string{"+ a", "+ b", "+ c", "+ d"}, nil},
		{"hard links", []string{"a", "1\n"}, `ln a b; echo 2 >>b`, []string{"~ a", "+ b"}, nil},
		{"sparse and large", []string{"a", "1\n"}, `truncate -s 1G a`, []string{"~ a"}, nil},
	}
	testuser.Both(t, func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				r := overlaytest.New(t, fill(t, c.host...))
				r.Sh(t, c.script)
				want := c.user
				if privileged(r) && c.root != nil {
					want = c.root
				}
				expect(t, r, want...)
			})
		}
	})
}

func TestXattrsAreAttributes(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, func(host string) {
			fill(t, "a", "1\n", "b", "1\n", "d/c", "1\n", "same", "1\n")(host)
			must(t, unix.Setxattr(host+"/b", "user.note", []byte("old"), 0))
			must(t, unix.Setxattr(host+"/same", "user.note", []byte("old"), 0))
		})
		must(t, unix.Setxattr(r.M("a"), "user.note", []byte("new"), 0))
		must(t, unix.Removexattr(r.M("b"), "user.note"))
		must(t, unix.Setxattr(r.M("d"), "user.note", []byte("new"), 0))
		must(t, unix.Setxattr(r.M("same"), "user.note", []byte("old"), 0))
		expect(t, r, "a a", "a b", "a d")
	})
}

func TestOwnerIsAnAttributeWhereItCanChange(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "a", "1\n", "d/b", "1\n"))
		if !privileged(r) {
			return // chown inside gives EINVAL: nobody else is mapped
		}
		r.Sh(t, `chown 1234 a; chgrp 1234 d`)
		expect(t, r, "a a", "a d")
	})
}

// What a program inside sets is stored under another name, and the attributes
// of the other mode, which the host may carry, are plain data.
func TestForgedOverlayAttributesDoNotCount(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, func(host string) {
			fill(t, "d/a", "1\n", "e/a", "1\n", "f/a", "1\n")(host)
			must(t, unix.Setxattr(host+"/e", "user.overlay.opaque", []byte("y"), 0))
		})
		for _, prefix := range []string{"user.overlay.", "trusted.overlay."} {
			for name, value := range map[string]string{"opaque": "y", "redirect": "/e", "metacopy": ""} {
				err := unix.Setxattr(r.M("d"), prefix+name, []byte(value), 0)
				if err != nil && err != unix.EPERM && err != unix.EOPNOTSUPP {
					t.Fatal(err)
				}
			}
		}
		// Straight in the upper: names that are almost the overlay's.
		r.Sh(t, `echo 2 >f/a`)
		must(t, unix.Setxattr(r.U("f"), "user.overlay.overlay.opaque", []byte("y"), 0))
		if privileged(r) {
			must(t, unix.Setxattr(r.U("f"), "user.overlay.opaque", []byte("y"), 0))
		}
		set := scan(t, r.Tree())
		for _, c := range set.Changes {
			if c.Kind == changes.Deleted || c.Kind == changes.Renamed || c.Opaque {
				t.Errorf("%s %s: forged", c.Kind, c.Path)
			}
		}
		if i, ok := set.Find(r.H("f/a")); !ok || set.Changes[i].Kind != changes.Modified {
			t.Errorf("f/a is missing from %q", show(r.Host, set))
		}
	})
}

func TestRedirectsThatLeaveTheLayer(t *testing.T) {
	if os.Getuid() != 0 {
		return // redirects exist in mode P only
	}
	for _, target := range []string{"../../etc", "/../etc", "/d/../../etc", "..", ".", "", "/", "//", "a/b", "/none", "/store", "/mask/x"} {
		t.Run(target, func(t *testing.T) {
			r := overlaytest.New(t, fill(t, "d/a", "1\n", "mask/x/secret", "s"))
			must(t, os.MkdirAll(r.U("n"), 0o755))
			write(t, r.U("n/f"), "x")
			must(t, unix.Setxattr(r.U("n"), "trusted.overlay.redirect", []byte(target), 0))
			tree := r.Tree()
			tree.Masks = append(tree.Masks, r.H("mask"))
			same(t, show(r.Host, scan(t, tree)), []string{"+ n", "+ n/f"})
		})
	}
}

// Linux 6.7 can write a whiteout as an empty file with an xattr, in a
// directory whose opaque attribute is "x".
func TestXattrWhiteouts(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "d/a", "1\n", "d/b", "1\n", "d/c", "1\n", "e/a", "1\n"))
		for _, dir := range []string{"d", "e"} {
			must(t, os.MkdirAll(r.U(dir), 0o755))
		}
		must(t, unix.Setxattr(r.U("d"), r.Xattr+"opaque", []byte("x"), 0))
		for _, f := range []string{"d/a", "d/b", "d/none", "e/a"} {
			write(t, r.U(f), "")
		}
		for _, f := range []string{"d/a", "d/none", "e/a"} { // e is not marked
			must(t, unix.Setxattr(r.U(f), r.Xattr+"whiteout", nil, 0))
		}
		same(t, show(r.Host, scan(t, r.Tree())), []string{"- d/a", "~ d/b", "~ e/a"})
	})
}

func TestWhiteoutsOfNothing(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "a", "1\n", "d/b", "1\n", "d/c", "1\n"))
		r.Sh(t, `rm a; rm -r d; mkdir d; printf '1\n' >d/b; rm d/b`)
		// The host lost it too, so nothing is left to do.
		must(t, os.Remove(r.H("a")))
		// In an opaque directory a whiteout says nothing; the file is gone anyhow.
		must(t, unix.Mknod(r.U("d/b"), unix.S_IFCHR|0o600, 0))
		must(t, unix.Mknod(r.U("d/none"), unix.S_IFCHR|0o600, 0))
		same(t, show(r.Host, scan(t, r.Tree())), []string{"- d/b", "- d/c"})
	})
}

func TestMasksAndOtherLayers(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "a", "1\n", "mask/secret", "s", "sub/x", "1\n", "gone/mask2/s", "s", "gone/a", "1\n"))
		r.Sh(t, `echo 2 >a; echo mine >mask/secret; echo n >mask/n; rm -r gone; echo inner >sub/y`)
		write(t, r.Storage+"/upper-sub/x", "2\n")
		write(t, r.Storage+"/upper-sub/deep/y", "2\n")
		tree := r.Tree()
		tree.Masks = append(tree.Masks, r.H("mask"), r.H("gone/mask2"))
		tree.Layers = append(tree.Layers,
			changes.Layer{Host: r.H("sub"), Upper: "upper-sub"},
			changes.Layer{Host: r.H("never"), Upper: "upper-never"})
		set := scan(t, tree)
		same(t, show(r.Host, set), []string{"~ a", "- gone", "- gone/a", "+ sub/deep", "+ sub/deep/y", "~ sub/x"})
		for _, path := range []string{"mask/secret", "mask", "sub", "sub/y", "none", "mask/none"} {
			if c, err := changes.One(context.Background(), tree, r.H(path), changes.Options{}); err == nil {
				t.Errorf("One(%s) = %+v", path, c)
			}
		}
		c, err := changes.One(context.Background(), tree, r.H("sub/x"), changes.Options{})
		must(t, err)
		if c.Upper != r.Storage+"/upper-sub/x" {
			t.Errorf("upper of sub/x is %s", c.Upper)
		}
	})
}

// The sandbox and the user change the same machine; the clock of the file
// system is coarse, so the steps are apart.
// The clock of a file system goes in ticks: what both sides made in one tick
// bears the same time, and nobody knows which was first.
func TestBothSidesMakeTheSameNameAtOnce(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "keep", "1\n"))
		const files = 12
		for i := range files {
			r.Sh(t, fmt.Sprintf("echo agent >f%d", i))
			must(t, os.WriteFile(r.H(fmt.Sprintf("f%d", i)), []byte("mine\n"), 0o644))
		}
		set, err := changes.Scan(context.Background(), r.Tree(), changes.Options{})
		must(t, err)
		if len(set.Changes) != files {
			t.Fatalf("%d changes", len(set.Changes))
		}
		for _, c := range set.Changes {
			if !c.Conflict {
				t.Errorf("%s is no conflict: host %d, sandbox born %d", c.Path, c.Host.CtimeNs, c.Sandbox.BtimeNs)
			}
		}
	})
}

func TestConflicts(t *testing.T) {
	pause := func() { time.Sleep(20 * time.Millisecond) }
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t,
			"edited", "1\n", "quiet", "1\n", "gone", "1\n", "gone-quiet", "1\n", "dir/a", "1\n", "dir/b", "1\n",
			"type", "1\n", "equal", "1\n", "mode", "1\n", "replaced/a", "1\n", "replaced/b", "1\n", "before", "1\n", "before-gone", "1\n",
			"other/x", "1\n"))
		pause()
		must(t, os.WriteFile(r.H("before"), []byte("host\n"), 0o644))
		must(t, os.WriteFile(r.H("before-gone"), []byte("host\n"), 0o644))
		must(t, r.Sync())
		pause()
		r.Sh(t, `echo s >edited; echo s >quiet; rm gone gone-quiet; rm -r dir; rm type; mkdir type
			echo s >equal; chmod 700 mode; rm -r replaced; mkdir replaced; echo s >before; rm before-gone; echo s >both`)
		pause()
		for _, f := range []string{"edited", "gone", "dir/a", "type", "mode", "replaced/a", "both"} {
			must(t, os.WriteFile(r.H(f), []byte("host\n"), 0o644))
		}
		must(t, os.WriteFile(r.H("mode"), []byte("1\n"), 0o644))
		must(t, os.WriteFile(r.H("equal"), []byte("s\n"), 0o644))
		want := []string{
			"~ before", "- before-gone", "~ both [conflict]", "- dir", "- dir/a [conflict]", "- dir/b", "~ edited [conflict]",
			"- gone [conflict]", "- gone-quiet", "a mode", "~ quiet", "- replaced/a [conflict]", "- replaced/b", "t type [conflict]",
		}
		same(t, show(r.Host, scan(t, r.Tree())), want)

		// All whiteouts share one inode, whose ctime moves with a later deletion
		// elsewhere; what was deleted before must not look newer for it.
		pause()
		r.Sh(t, `mkdir later; echo >later/x; rm later/x; rmdir later; rm other/x`)
		same(t, show(r.Host, scan(t, r.Tree())), append(slices.Clone(want[:10]), "- other/x", want[10], want[11], want[12], want[13]))
	})
}

// A deletion of what an accept wrote is no conflict, although the host is newer
// than the first deletion in the sandbox; after an undo neither is the change.
func TestDeletionOfAcceptedFiles(t *testing.T) {
	pause := func() { time.Sleep(20 * time.Millisecond) }
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "first", "1\n", "a", "1\n", "dir/x", "1\n"))
		mark := func(host, upper string) {
			var st unix.Stat_t
			must(t, unix.Lstat(r.H(host), &st))
			must(t, changes.MarkAccepted(r.U(upper), r.Xattr, st.Ctim.Nano()))
		}
		r.Sh(t, `rm first; mkdir new; mkdir new/s; echo x >new/f; echo x >new/s/f; echo x >n; rm dir/x`)
		pause()
		start := time.Now().UnixNano()
		for _, f := range []string{"new/f", "new/s/f", "n"} {
			write(t, r.H(f), "x\n")
			mark(f, f)
			mark(f, filepath.Dir(f))
		}
		for _, d := range []string{"new", "new/s"} {
			must(t, unix.Setxattr(r.U(d), r.Xattr+"opaque", []byte("y"), 0))
			mark(d, d)
			must(t, changes.MarkAcceptedSpan(filepath.Dir(r.U(d)), r.Xattr, start, time.Now().UnixNano()))
		}
		must(t, r.Sync())
		expect(t, r, "- dir/x", "- first")

		r.Sh(t, `rm n; rm -r new`)
		expect(t, r, "- dir/x", "- first", "- n", "- new", "- new/f", "- new/s", "- new/s/f")

		// An undo writes dir/x again.
		write(t, r.H("dir/x"), "again\n")
		expect(t, r, "- dir/x [conflict]", "- first", "- n", "- new", "- new/f", "- new/s", "- new/s/f")
		mark("dir/x", "dir")
		expect(t, r, "- dir/x", "- first", "- n", "- new", "- new/f", "- new/s", "- new/s/f")
	})
}

// After an accept the host is newer than the copy-up by our own hand.
func TestAcceptedContentIsNoConflict(t *testing.T) {
	pause := func() { time.Sleep(20 * time.Millisecond) }
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "a", "1\n", "b", "1\n"))
		r.Sh(t, `echo 2 >a; echo 2 >b; mkdir n; echo x >n/f; echo x >n/g`)
		pause()
		accept := func(name string) {
			data, err := os.ReadFile(r.M(name))
			must(t, err)
			write(t, r.H(name), string(data))
			var st unix.Stat_t
			must(t, unix.Lstat(r.H(name), &st))
			must(t, changes.MarkAccepted(r.U(name), r.Xattr, st.Ctim.Nano()))
			must(t, changes.MarkAccepted(filepath.Dir(r.U(name)), r.Xattr, st.Ctim.Nano()))
		}
		must(t, os.Mkdir(r.H("n"), 0o755))
		must(t, unix.Setxattr(r.U("n"), r.Xattr+"opaque", []byte("y"), 0))
		for _, f := range []string{"a", "n/f", "n/g"} {
			accept(f)
		}
		must(t, os.WriteFile(r.H("b"), []byte("host\n"), 0o644)) // not ours
		expect(t, r, "~ b [conflict]")

		pause()
		r.Sh(t, `echo 3 >>a; rm n/f`)
		// The user makes a file in the accepted directory, which the sandbox
		// cannot see: it was not deleted there.
		write(t, r.H("n/user"), "mine\n")
		expect(t, r, "~ a", "~ b [conflict]", "- n/f")

		pause()
		must(t, os.WriteFile(r.H("a"), []byte("host\n"), 0o644))
		expect(t, r, "~ a [conflict]", "~ b [conflict]", "- n/f")

		if names, err := entry.ReadDir(openDir(t, r.M("n"))); err != nil || len(names) != 1 {
			t.Errorf("the sandbox sees %v in n (%v)", names, err)
		}
		// A program inside can neither see nor set the mark.
		if n, err := unix.Llistxattr(r.M("a"), make([]byte, 4096)); err != nil || n != 0 {
			t.Errorf("attributes seen inside: %d bytes, %v", n, err)
		}
	})
}

func openDir(t testing.TB, path string) int {
	t.Helper()
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

func TestHostDirectoryThatCannotBeRead(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "d/a", "1\n", "d/closed/x", "1\n"))
		r.Sh(t, `rm -r d`)
		must(t, os.Chmod(r.H("d/closed"), 0o000))
		defer os.Chmod(r.H("d/closed"), 0o755) //nolint:errcheck // for the test's own cleanup
		set := scan(t, r.Tree())
		want := []string{"- d", "- d/a", "- d/closed", "- d/closed/x"}
		if !privileged(r) {
			want = []string{"- d", "- d/a", "- d/closed", "unreadable d/closed"}
		}
		same(t, show(r.Host, set), want)
	})
}

// A link on the host takes a directory's place: the scan must not go through it.
func TestHostLinksAreNotFollowed(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		outside := t.TempDir()
		write(t, outside+"/x", "secret\n")
		r := overlaytest.New(t, fill(t, "d/x", "1\n"))
		r.Sh(t, `echo 2 >d/x`)
		must(t, os.RemoveAll(r.H("d")))
		must(t, os.Symlink(outside, r.H("d")))
		set := scan(t, r.Tree())
		same(t, show(r.Host, set), []string{"t d [conflict]", "+ d/x"})
	})
}

func TestVeryDeepTree(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "a", "1\n"))
		fd := openDir(t, r.M("."))
		for range 1200 {
			must(t, unix.Mkdirat(fd, "d", 0o755))
			next, err := unix.Openat(fd, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			must(t, err)
			if fd > 2 {
				unix.Close(fd)
			}
			fd = next
		}
		unix.Close(fd)
		set := scan(t, r.Tree())
		if len(set.Changes) < 800 || len(set.Unreadable) != 1 {
			t.Errorf("%d rows, %d unreadable", len(set.Changes), len(set.Unreadable))
		}
	})
}

func TestManyDirectoriesNeedFewDescriptors(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		var old unix.Rlimit
		must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
		r := overlaytest.New(t, nil)
		for i := range 600 {
			must(t, os.MkdirAll(fmt.Sprintf("%s/%d/x", r.M(""), i), 0o755))
		}
		low := unix.Rlimit{Cur: 256, Max: old.Max}
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
		set, err := changes.Scan(context.Background(), r.Tree(), changes.Options{})
		must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
		must(t, err)
		if len(set.Changes) != 1200 {
			t.Errorf("%d rows", len(set.Changes))
		}
	})
}

func TestScanStops(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "a", "1\n"))
		r.Sh(t, `echo 2 >a`)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := changes.Scan(ctx, r.Tree(), changes.Options{}); err == nil {
			t.Error("a cancelled scan gave a result")
		}
	})
}

func TestCount(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "mod", "1\n2\n3\n", "del", "1\n2\n", "mv", "1\n2\n3\n4\n5\n6\n", "mode", "1\n", "bin", "a\x00b", "t", "1\n2\n"))
		r.Sh(t, `sed -i -e s/2/two/ -e '3a four' mod; rm del; mv mv mw; sed -i 1d mw; chmod 700 mode; printf 'c\000d' >bin
			printf 'a\nb' >new; mkdir d; ln -s x l; rm t; ln -s mod t; truncate -s 9M large`)
		set := scan(t, r.Tree())
		must(t, changes.Count(context.Background(), set, nil))
		var got []string
		for _, c := range set.Changes {
			got = append(got, fmt.Sprintf("%s +%d -%d", filepath.Base(c.Path), c.Added, c.Removed))
		}
		same(t, got, []string{
			"bin +-1 --1", "d +-1 --1", "del +0 -2", "l +-1 --1", "large +-1 --1", "mod +2 -1", "mode +0 -0", "mw +0 -1", "new +2 -0", "t +0 -2",
		})
	})
}

func TestSensitive(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		r := overlaytest.New(t, fill(t, "p/.git/config", "[core]\n", "p/a", "1\n"))
		r.Sh(t, `echo x >>p/.git/config; echo 2 >p/a; printf '#!/bin/sh\n' >p/run; chmod +x p/run; echo >.bashrc`)
		set, err := changes.Scan(context.Background(), r.Tree(), changes.Options{
			Home: r.Host,
		})
		must(t, err)
		var got []string
		for _, c := range set.Changes {
			level := ""
			if c.Sensitive != nil {
				level = string(c.Sensitive.Level)
			}
			got = append(got, strings.TrimPrefix(c.Path, r.Host+"/")+" "+level)
		}
		same(t, got, []string{".bashrc hold", "p/.git/config hold", "p/a ", "p/run mark"})
	})
}
