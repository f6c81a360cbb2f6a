package nvim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"sandbox/engine"
	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/rplugin"
)

// fakeStore names the folder that stands in for the storage directory: the
// sandbox NAME has its version of /a/b at fakeStore/NAME/a/b.
const fakeStore = "SANDBOX_TEST_STORE"

// fake is a backend without namespaces: two trees of plain files. It knows text
// files that both sides have, which is what the Lua tests need.
type fake struct {
	store string
	undo  []map[string][]byte
}

// serveFake plays `sandbox rpc-host`.
func serveFake() int {
	if os.Getenv("SANDBOX_TEST_MUTE") != "" {
		fmt.Fprintln(os.Stderr, "no host today")
		return 3
	}
	out := os.Stdout
	os.Stdout = os.Stderr
	if err := rplugin.Serve(context.Background(), os.Stdin, out, &fake{store: os.Getenv(fakeStore)}, "test"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (f *fake) List(context.Context, bool) ([]engine.Info, error) {
	found, err := os.ReadDir(f.store)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Info, 0, len(found))
	for _, e := range found {
		out = append(out, engine.Info{Name: e.Name(), Changes: -1})
	}
	return out, nil
}

func (f *fake) Info(_ context.Context, name string) (engine.Info, error) {
	if _, err := os.Stat(filepath.Join(f.store, name)); err != nil {
		return engine.Info{}, fault.New(fault.NoSandbox, "open", name, "there is no sandbox of that name", "See sandbox list.")
	}
	return engine.Info{Name: name}, nil
}

func side(path string) (diff.Side, entry.Print) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return diff.Side{Type: entry.None}, entry.PrintNone
	}
	return diff.Side{Type: entry.File, Mode: 0o644, Data: data}, entry.PrintBytes(data)
}

func (f *fake) Changes(_ context.Context, name string, _ engine.Query) (engine.Changes, error) {
	var out engine.Changes
	root := filepath.Join(f.store, name)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		host, hostPrint := side(strings.TrimPrefix(path, root))
		_, print := side(path)
		if print == hostPrint {
			return nil
		}
		kind := changes.Modified
		if host.Type == entry.None {
			kind = changes.Added
		}
		out.Matching = append(out.Matching, changes.Change{
			Path: strings.TrimPrefix(path, root), Kind: kind, Added: 1, Removed: -1,
			Host: entry.Entry{Type: host.Type}, Sandbox: entry.Entry{Type: entry.File},
		})
		return nil
	})
	sort.Slice(out.Matching, func(i, j int) bool { return out.Matching[i].Path < out.Matching[j].Path })
	return out, err
}

func (f *fake) Diff(_ context.Context, name, path string) (engine.FileDiff, error) {
	switch {
	case strings.HasSuffix(path, "die"):
		os.Exit(9)
	case strings.HasSuffix(path, "panic"):
		panic("as asked")
	}
	host, hostPrint := side(path)
	sandbox, print := side(filepath.Join(f.store, name) + path)
	if print == hostPrint {
		return engine.FileDiff{}, fault.New(fault.NoMatch, "diff", path, "no change", "")
	}
	return engine.FileDiff{
		Change: changes.Change{Path: path, Kind: changes.Modified}, Base: "same",
		HostHash: hostPrint, SandboxHash: print, Host: host, Sandbox: sandbox,
		Hunks: diff.Compare(path, host, sandbox),
	}, nil
}

func (f *fake) decide(name string, o engine.DecideOptions, accept bool) (apply.Result, error) {
	undo := map[string][]byte{}
	result := apply.Result{ID: fmt.Sprint("op", len(f.undo)+1)}
	for _, d := range o.Decisions {
		upper := filepath.Join(f.store, name) + d.Path
		host, hostPrint := side(d.Path)
		sandbox, print := side(upper)
		if (d.Host != "" && d.Host != hostPrint) || (d.Sandbox != "" && d.Sandbox != print) {
			return apply.Result{}, fault.New(fault.Stale, "decide", d.Path, "it changed since it was looked at", "")
		}
		hunks := diff.Compare(d.Path, host, sandbox)
		take := diff.All
		if d.Hunks != nil {
			selected, err := diff.Select(hunks, d.Hunks)
			if err != nil {
				return apply.Result{}, err
			}
			take = diff.Among(selected)
		}
		if accept {
			got, err := diff.Apply(host, sandbox, hunks, take)
			if err != nil {
				return apply.Result{}, err
			}
			undo[d.Path] = host.Data
			if err := os.WriteFile(d.Path, got.Data, 0o644); err != nil {
				return apply.Result{}, err
			}
		} else {
			got, err := diff.Apply(host, sandbox, hunks, func(h diff.Hunk) bool { return !take(h) })
			if err != nil {
				return apply.Result{}, err
			}
			undo[upper] = sandbox.Data
			if err := os.WriteFile(upper, got.Data, 0o644); err != nil {
				return apply.Result{}, err
			}
		}
		result.Done = append(result.Done, apply.Row{Path: d.Path, Kind: changes.Modified})
	}
	f.undo = append(f.undo, undo)
	return result, nil
}

func (f *fake) Accept(_ context.Context, name string, o engine.DecideOptions) (apply.Result, error) {
	return f.decide(name, o, true)
}

func (f *fake) Reject(_ context.Context, name string, o engine.DecideOptions) (apply.Result, error) {
	return f.decide(name, o, false)
}

func (f *fake) Undo(context.Context, string, string) (apply.Result, error) {
	last := f.undo[len(f.undo)-1]
	f.undo = f.undo[:len(f.undo)-1]
	var result apply.Result
	for path, data := range last {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return result, err
		}
		result.Done = append(result.Done, apply.Row{Path: path})
	}
	return result, nil
}

func (f *fake) ReadSandbox(_ context.Context, name, path string) (diff.Side, entry.Print, error) {
	s, p := side(filepath.Join(f.store, name) + path)
	if s.Type == entry.None {
		s, p = side(path)
	}
	return s, p, nil
}

func (f *fake) WriteSandbox(_ context.Context, name, path string, data []byte, expect entry.Print) (entry.Print, error) {
	upper := filepath.Join(f.store, name) + path
	if _, print := side(upper); print != expect {
		return "", fault.New(fault.Stale, "write", path, "it changed since it was read", "")
	}
	return entry.PrintBytes(data), os.WriteFile(upper, data, 0o644)
}

func (f *fake) Sync(context.Context, string, ...string) error { return nil }
