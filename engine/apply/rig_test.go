package apply_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/rootfs"
	"sandbox/engine/view"
	"sandbox/engine/view/dirview"
	"sandbox/internal/overlaytest"
	"sandbox/internal/testuser"
)

// rig is a mounted overlay with a scan and the operations on it.
type rig struct {
	*overlaytest.Rig
	env  apply.Env
	view *dirview.Dir
}

// story runs body on a mounted overlay, as root and as a user.
func story(t *testing.T, host string, body func(t *testing.T, r *rig)) {
	t.Helper()
	testuser.Both(t, func(t *testing.T) { chapter(t, host, body) })
}

// chapter is one story of several in a test that both users run.
func chapter(t *testing.T, host string, body func(t *testing.T, r *rig)) {
	t.Helper()
	o := overlaytest.New(t, func(dir string) { script(t, dir, host) })
	r := &rig{Rig: o}
	r.attach()
	r.env = apply.Env{
		Tree: o.Tree(), Journal: o.Storage + "/journal", Running: true,
		View: func() (view.View, error) { return r.view, nil },
	}
	body(t, r)
	for _, dir := range []string{o.Host, o.M(""), o.U("")} {
		if strings.Contains(dump(t, dir), rootfs.TempPrefix) {
			t.Errorf("a temporary is left in %s", dir)
		}
	}
}

// attach makes the view of what is mounted now.
func (r *rig) attach() {
	r.view = dirview.New(r.Root)
	r.view.OnSync = r.Sync
}

func script(t *testing.T, dir, sh string) {
	t.Helper()
	if sh != "" {
		(&overlaytest.Rig{Host: dir}).ShHost(t, sh)
	}
}

// scan gives the changes as selections: all, or those of the paths and what is
// below them.
func (r *rig) scan(t testing.TB, names ...string) []apply.Selection {
	t.Helper()
	set, err := changes.Scan(context.Background(), r.Tree(), changes.Options{})
	must(t, err)
	apply.Settle(r.env.Journal, set.Changes)
	var sel []apply.Selection
	for _, c := range set.Changes {
		for _, name := range append(names, "")[:max(len(names), 1)] {
			p := strings.TrimSuffix(r.H(name), "/")
			if c.Path == p || strings.HasPrefix(c.Path, p+"/") || c.From == p {
				sel = append(sel, apply.Selection{Change: c})
				break
			}
		}
	}
	return sel
}

func (r *rig) rows(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, s := range r.scan(t) {
		c := s.Change
		fmt.Fprintf(&b, "%s %s", c.Kind, strings.TrimPrefix(c.Path, r.Host+"/"))
		if c.From != "" {
			fmt.Fprintf(&b, " <- %s", strings.TrimPrefix(c.From, r.Host+"/"))
		}
		if c.Conflict {
			b.WriteString(" !")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (r *rig) accept(sel []apply.Selection) (apply.Result, error) {
	return apply.Accept(context.Background(), r.env, sel, apply.Options{})
}

func (r *rig) reject(sel []apply.Selection) (apply.Result, error) {
	return apply.Reject(context.Background(), r.env, sel, apply.Options{})
}

func (r *rig) undo() (apply.Result, error) { return apply.Undo(context.Background(), r.env, "") }

func (r *rig) host(t *testing.T) string { t.Helper(); return dump(t, r.Host) }
func (r *rig) box(t *testing.T) string  { t.Helper(); return dump(t, r.M("")) }

// dump describes a tree: names, types, modes, contents, and the times of all
// but directories.
func dump(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == dir {
			return nil
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q %s", path[len(strings.TrimSuffix(dir, "/")):], st.Mode())
		switch {
		case st.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				data = []byte(err.Error())
			}
			if len(data) > 200 {
				data = fmt.Appendf(nil, "%d bytes, %x", len(data), apply.Sum(data))
			}
			fmt.Fprintf(&b, " %d %q", st.ModTime().UnixNano(), data)
		case st.Mode()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			fmt.Fprintf(&b, " -> %q", to)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	in := func(s string) map[string]bool {
		m := map[string]bool{}
		for line := range strings.Lines(s) {
			m[line] = true
		}
		return m
	}
	g, w := in(got), in(want)
	var b strings.Builder
	for line := range strings.Lines(want) {
		if !g[line] {
			b.WriteString("  want " + line)
		}
	}
	for line := range strings.Lines(got) {
		if !w[line] {
			b.WriteString("  got  " + line)
		}
	}
	t.Errorf("%s differ:\n%s", what, b.String())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
