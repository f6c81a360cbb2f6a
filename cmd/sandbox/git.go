package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"sandbox/engine/changes"
)

// gitDocument is what JSON says of a git directory beside its row.
func gitDocument(c *changes.Change) document {
	g := c.Git
	d := document{
		"summary": g.Summary, "new": g.New, "objects": g.Objects, "packs": g.Packs, "removed": g.Removed,
		"branches": g.Branches, "refs": g.Refs, "files": len(g.Members),
	}
	if g.Head != "" {
		d["head"] = g.Head
	}
	if g.Trouble != "" {
		d["trouble"] = g.Trouble
	}
	return d
}

// writeGit says in a patch what no patch can carry: programs that apply one
// pass over these lines.
func writeGit(w io.Writer, dir string, c *changes.Change) error {
	name := patchPath(dir, c.Path)
	if quoted := strconv.Quote(name); quoted[1:len(quoted)-1] != name {
		name = quoted
	}
	if _, err := fmt.Fprintf(w, "# %s: %s\n", name, c.Git.Summary); err != nil {
		return err
	}
	for _, m := range slices.Concat(c.Git.Branches, c.Git.Refs) {
		old, now := m.Old, m.New
		if old == "" {
			old = "(none)"
		}
		if now == "" {
			now = "(none)"
		}
		if _, err := fmt.Fprintf(w, "#   %s: %s → %s\n", strconv.Quote(m.Name), old, now); err != nil {
			return err
		}
	}
	return nil
}
