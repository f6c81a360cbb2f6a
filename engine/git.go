package engine

import (
	"context"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/repo"
	"sandbox/engine/store"
)

// group makes one row of what changed in each git directory. open says of
// which the files are wanted one by one.
func (b *box) group(set *changes.Set, open func(dir string) bool) error {
	rows, err := repo.Group(set.Changes, repo.Env{
		Tree: b.tree, Home: scanOptions().Home, Base: b.baseContent, Open: open,
		Running: store.Held(b.dir.Path(store.LockFile)),
	})
	if err == nil {
		set.Changes = rows
	}
	return err
}

// repository finds the row of a git directory, or of what stands apart inside
// one. For one of the files that such a row stands for it gives the directory,
// and no row. It scans, so only for paths that look like one.
func (b *box) repository(ctx context.Context, path string) (c *changes.Change, inside string, err error) {
	if !strings.Contains(path+"/", ".git/") && !b.hasHead(path) {
		return nil, "", nil
	}
	b.bases()
	set, err := changes.Scan(ctx, b.tree, scanOptions())
	if err != nil {
		return nil, "", err
	}
	apply.Settle(b.journal(), set.Changes)
	if err := b.group(set, nil); err != nil {
		return nil, "", err
	}
	if i, found := set.Find(path); found {
		return &set.Changes[i], "", nil
	}
	for i := range set.Changes {
		git := set.Changes[i].Git
		if git != nil && slices.ContainsFunc(git.Members, func(m changes.Change) bool { return m.Path == path }) {
			return nil, set.Changes[i].Path, nil
		}
	}
	return nil, "", nil
}

// hasHead reports whether a path may be a git directory of any name.
func (b *box) hasHead(path string) bool {
	var st unix.Stat_t
	if unix.Lstat(path+"/HEAD", &st) == nil {
		return true
	}
	upper, ok := b.tree.UpperPath(path)
	return ok && unix.Lstat(upper+"/HEAD", &st) == nil
}

// expand puts what a git directory's row stands for in its place.
func expand(what string, list []apply.Selection, skipConflicts bool) ([]apply.Selection, []apply.Skip, error) {
	var out []apply.Selection
	var skipped []apply.Skip
	for i := range list {
		c := &list[i].Change
		if c.Git == nil {
			out = append(out, list[i])
			continue
		}
		row := &apply.Row{Path: c.Path, Kind: c.Kind}
		if what == "reject" {
			for _, m := range c.Git.Members {
				out = append(out, apply.Selection{Change: m, Unit: row})
			}
			continue
		}
		if c.Git.Trouble != "" {
			if !skipConflicts {
				return nil, nil, fault.New(fault.Conflict, what, c.Path, c.Git.Trouble,
					"Nothing was written. A git repository is taken as a whole; --skip-conflicts takes the rest.")
			}
			skipped = append(skipped, apply.Skip{Path: c.Path, Reason: c.Git.Trouble})
			continue
		}
		members, ranks := repo.Take(c)
		for j, m := range members {
			out = append(out, apply.Selection{Change: m, Unit: row, Rank: ranks[j]})
		}
	}
	return out, skipped, nil
}

// boundToGit refuses a decision on a git directory that was made on another
// state of it.
func boundToGit(what string, c *changes.Change, d Decision) error {
	if len(d.Hunks) > 0 {
		return fault.New(fault.Usage, what, c.Path, "a git repository has no blocks", "It is taken as a whole.")
	}
	for _, print := range []entry.Print{d.Host, d.Sandbox} {
		if print != "" && print != c.Git.Print {
			return fault.New(fault.Stale, what, c.Path, "it changed since it was looked at", "Nothing was written. Look at it again.")
		}
	}
	return nil
}

func partOfGit(what, path, dir string) error {
	return fault.New(fault.Usage, what, path, "it is a part of a git repository, which is decided on as a whole",
		"Nothing was written. The whole is "+dir+".")
}

// gitDiff is the comparison of a git directory: its report, and no blocks.
func gitDiff(c changes.Change) FileDiff {
	side := func(e entry.Entry) diff.Side { return diff.Side{Type: e.Type, Mode: e.Mode} }
	return FileDiff{
		Change: c, Host: side(c.Host), Sandbox: side(c.Sandbox), HostHash: c.Git.Print, SandboxHash: c.Git.Print,
		Base: changes.BaseSame, Hunks: []diff.Hunk{},
	}
}

// Lost are the git directories of a sandbox that hold commits which no accept
// has taken: a delete loses them.
func (e *Engine) Lost(ctx context.Context, name string) ([]changes.Change, error) {
	found, err := e.Changes(ctx, name, Query{All: true, Ignored: true})
	if err != nil {
		return nil, err
	}
	var lost []changes.Change
	for _, c := range found.Matching {
		if c.Git != nil && c.Kind != changes.Deleted && c.Git.Loses() {
			lost = append(lost, c)
		}
	}
	return lost, nil
}

// baseContent is the host's content of a path at the time of the copy-up.
func (b *box) baseContent(path string) ([]byte, bool) {
	r, ok := b.tree.Base.Get(path)
	if !ok || r.Deleted {
		return nil, false
	}
	return b.tree.Base.Content(r)
}

// still looks at git directories a second time before they are accepted. A
// program inside may commit during a look: then the reference is seen, and what
// it leads to is not. What two looks found alike was whole when the second began.
func (b *box) still(ctx context.Context, what string, selected []apply.Selection) error {
	if what != "accept" || !store.Held(b.dir.Path(store.LockFile)) ||
		!slices.ContainsFunc(selected, func(s apply.Selection) bool { return s.Change.Git != nil }) {
		return nil
	}
	set, err := changes.Scan(ctx, b.tree, scanOptions())
	if err != nil {
		return err
	}
	apply.Settle(b.journal(), set.Changes)
	if err := b.group(set, nil); err != nil {
		return err
	}
	for i := range selected {
		c := &selected[i].Change
		if c.Git == nil {
			continue
		}
		at, ok := set.Find(c.Path)
		for ok && at < len(set.Changes) && set.Changes[at].Path == c.Path && set.Changes[at].Git == nil {
			at++
		}
		if !ok || at >= len(set.Changes) || set.Changes[at].Git == nil || set.Changes[at].Git.Print != c.Git.Print {
			return fault.New(fault.Stale, what, c.Path, "a program in the sandbox is writing to it", "Nothing was written. Try again.")
		}
	}
	return nil
}
