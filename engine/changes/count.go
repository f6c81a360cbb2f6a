package changes

import (
	"context"

	"sandbox/engine/diff"
	"sandbox/engine/entry"
)

// CountLimit is the size of the largest file that Count compares.
const CountLimit = 8 << 20

// Count fills Added and Removed of the rows that filter picks (nil: all).
// Regular text files up to CountLimit are counted; all else keeps -1, and so
// does what cannot be read. set must come from Scan.
func Count(ctx context.Context, set *Set, filter func(*Change) bool) error {
	var rows []*Change
	for i := range set.Changes {
		c := &set.Changes[i]
		if countable(c) && (filter == nil || filter(c)) {
			rows = append(rows, c)
		}
	}
	return parallel(ctx, set.tree, len(rows), func(f *files, i int) error {
		added, removed, err := f.count(rows[i])
		if fatal(err) != nil {
			return err
		}
		if err == nil {
			rows[i].Added, rows[i].Removed = added, removed
		}
		return nil
	})
}

// CountOne is Count for one row, which is changed in place.
func CountOne(ctx context.Context, tree Tree, c *Change) error {
	set := Set{Changes: []Change{*c}, tree: tree}
	err := Count(ctx, &set, nil)
	*c = set.Changes[0]
	return err
}

func countable(c *Change) bool {
	if c.Host.Type != entry.File && c.Sandbox.Type != entry.File {
		return false
	}
	return c.Host.Size <= CountLimit && c.Sandbox.Size <= CountLimit
}

func (f *files) count(c *Change) (added, removed int, err error) {
	if c.Kind == Attributes {
		return 0, 0, nil
	}
	host := diff.Side{Type: c.Host.Type, Mode: c.Host.Mode, Target: c.Host.Target}
	sandbox := diff.Side{Type: c.Sandbox.Type, Mode: c.Sandbox.Mode, Target: c.Sandbox.Target}
	if host.Type == entry.File {
		dirfd, name, err := f.hostSide(c.hostPath())
		if err != nil {
			return 0, 0, err
		}
		if host.Data, _, err = f.hostData.Read(dirfd, name, CountLimit); err != nil {
			return 0, 0, err
		}
	}
	if sandbox.Type == entry.File {
		dirfd, name, err := f.upperSide(c.Upper)
		if err != nil {
			return 0, 0, err
		}
		if sandbox.Data, _, err = f.upperData.Read(dirfd, name, CountLimit); err != nil {
			return 0, 0, err
		}
	}
	if c.Base == BaseKnown && c.From == "" {
		if old, ok := f.tree.BaseSide(c.Path, host); ok {
			added, removed = diff.CountHunks(diff.CompareBase(c.Path, host, sandbox, old))
			return added, removed, nil
		}
	}
	added, removed = diff.Count(host, sandbox)
	return added, removed, nil
}
