package repo

import (
	"slices"
	"strings"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/gitdir"
	"sandbox/engine/sensitive"
)

// Env is what grouping must know beside the rows.
type Env struct {
	Tree changes.Tree
	Home string // for the catalogue of sensitive paths
	// Base gives the host's content of a path at the time of the copy-up, where
	// it is known. nil: nowhere.
	Base func(path string) ([]byte, bool)
	// Running says that a program may be at work in the sandbox.
	Running bool
	// Open says that the files of a git directory are wanted one by one. nil: of
	// none.
	Open func(dir string) bool
}

// unit is one git directory.
type unit struct {
	dir     string
	onHost  bool // the host has a repository there
	gone    bool // the sandbox has no directory there
	members []changes.Change
}

// grouper sorts the rows of a change set.
type grouper struct {
	env   Env
	sides *sides
	known map[string]*unit // by directory; nil for what is none
	units []*unit
	// last is the directory asked about last, and the git directory it lies in.
	last     string
	lastUnit *unit
}

// Group replaces the rows inside git directories by one each. rows are all rows
// of a scan, in order of Path, and so is what it returns.
func Group(rows []changes.Change, env Env) ([]changes.Change, error) {
	if !slices.ContainsFunc(rows, func(c changes.Change) bool { return mayBe(c.Path) || mayBe(c.From) }) {
		return rows, nil
	}
	sides, err := openSides(env.Tree, rows)
	if err != nil {
		return nil, err
	}
	defer sides.close()
	g := &grouper{env: env, sides: sides, known: map[string]*unit{}}
	for i := range rows {
		c := &rows[i]
		if !apartAnyway(c) {
			g.find(c.Path)
		}
		if c.From != "" && c.Kind == changes.Renamed {
			g.find(c.From)
		}
	}
	if len(g.units) == 0 {
		return rows, nil
	}
	rows = g.apartRenames(rows)
	sides.rows = rows
	var rest []changes.Change
	var pointers []changes.Change
	for i := range rows {
		c := &rows[i]
		u := g.of(c)
		switch {
		case u == nil && isPointer(c):
			pointers = append(pointers, *c)
		case u == nil:
			rest = append(rest, *c)
		case !u.gone && g.apart(u, c):
			rest = append(rest, *c)
		default:
			u.members = append(u.members, *c)
		}
	}
	for i := range pointers {
		if u := g.pointsTo(&pointers[i]); u != nil {
			u.members = append(u.members, pointers[i])
		} else {
			rest = append(rest, pointers[i])
		}
	}
	for _, u := range g.units {
		if row, ok := g.rowOf(u); ok {
			rest = append(rest, row...)
		}
	}
	slices.SortStableFunc(rest, func(a, b changes.Change) int { return strings.Compare(a.Path, b.Path) })
	return rest, nil
}

// names are the entries of a git directory by which one is found.
var names = map[string]bool{
	"objects": true, "refs": true, "HEAD": true, "config": true, "hooks": true, "packed-refs": true,
	"index": true, "logs": true, "info": true,
}

// mayBe is a cheap first question: whether a path can lie in a git directory.
func mayBe(path string) bool {
	for rest := path; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if names[part] || strings.HasSuffix(part, ".git") {
			return true
		}
	}
	return false
}

// of finds the git directory that a row belongs to. Below a directory that was
// renamed as a whole there are two paths for everything: such rows stay alone.
func (g *grouper) of(c *changes.Change) *unit {
	if apartAnyway(c) {
		return nil
	}
	return g.at(c.Path)
}

func apartAnyway(c *changes.Change) bool {
	return (c.From != "" && c.Kind != changes.Renamed) || c.Redirect
}

// at gives the git directory, of those that were found, that a path is or lies in.
func (g *grouper) at(path string) *unit {
	if u := g.known[path]; u != nil {
		return u
	}
	dir, _ := entry.Split(path)
	if dir != g.last {
		g.last, g.lastUnit = dir, nil
		for up := dir; up != "/" && up != ""; up, _ = entry.Split(up) {
			if u := g.known[up]; u != nil {
				g.lastUnit = u // the outermost
			}
		}
	}
	return g.lastUnit
}

// find looks for the outermost git directory that a path is, or lies in.
func (g *grouper) find(path string) {
	if !mayBe(path) {
		return
	}
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		next, _, _ := strings.Cut(path[min(i+1, len(path)):], "/")
		if !names[next] && !strings.HasSuffix(path[:i], ".git") {
			continue
		}
		dir := path[:i]
		u, seen := g.known[dir]
		if !seen {
			if u = g.look(dir); u != nil {
				g.units = append(g.units, u)
			}
			g.known[dir] = u
		}
		if u != nil {
			return
		}
	}
}

// look asks whether a directory is a git directory on either side.
func (g *grouper) look(dir string) *unit {
	onHost := isRepository(dir, g.sides.hostEntry)
	if !onHost && !isRepository(dir, g.sides.boxEntry) {
		return nil
	}
	return &unit{dir: dir, onHost: onHost, gone: g.sides.boxEntry(dir).Type != entry.Dir}
}

// apartRenames makes a deletion and an addition of each file that was moved
// into, out of or within a git directory: the two belong to different wholes,
// or have their turn at different times.
func (g *grouper) apartRenames(rows []changes.Change) []changes.Change {
	out := make([]changes.Change, 0, len(rows))
	for i := range rows {
		c := rows[i]
		if c.Kind != changes.Renamed || c.Redirect || (g.at(c.Path) == nil && g.at(c.From) == nil) {
			out = append(out, c)
			continue
		}
		gone := changes.Change{
			Path: c.From, Kind: changes.Deleted, Host: c.Host, Sandbox: entry.Entry{Type: entry.None},
			Added: -1, Removed: -1, Base: c.Base, Conflict: c.Conflict,
		}
		gone.Upper, _ = g.env.Tree.UpperPath(c.From)
		gone.Sensitive = sensitive.For(gone.Path, g.env.Home, gone.Host, gone.Sandbox)
		c.From, c.Kind, c.Conflict, c.Base = "", changes.Added, false, changes.BaseSame
		c.Host = entry.Entry{Type: entry.None}
		c.Sensitive = sensitive.For(c.Path, g.env.Home, c.Host, c.Sandbox)
		out = append(out, gone, c)
	}
	slices.SortStableFunc(out, func(a, b changes.Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func hold(c *changes.Change, reason string) {
	c.Sensitive = &sensitive.Mark{Level: sensitive.LevelHold, Reason: reason}
}

// apart reports whether a row stays one of its own, and says why in its mark.
func (g *grouper) apart(u *unit, c *changes.Change) bool {
	rel := strings.TrimPrefix(c.Path[len(u.dir):], "/")
	_, inner := gitdir.Split(rel)
	switch c.Sandbox.Type {
	case entry.Dir, entry.None, "":
		held := c.Sensitive != nil && c.Sensitive.Level == sensitive.LevelHold
		return held && c.Sandbox.Type != entry.Dir && isHook(inner)
	case entry.File:
	case entry.Symlink:
		if c.Sensitive == nil || c.Sensitive.Level != sensitive.LevelHold {
			hold(c, "a link inside a git repository")
		}
		return true
	default: // a socket or a FIFO of a running program
		return true
	}
	switch {
	case isHook(inner):
		if c.Sensitive == nil && !strings.HasSuffix(inner, ".sample") {
			hold(c, "git runs it as a hook")
		}
		return c.Sensitive != nil && c.Sensitive.Level == sensitive.LevelHold
	case inner == "info/attributes":
		hold(c, "chooses which filters git runs")
		return true
	case inner == "commondir":
		data, _ := g.sides.readBox(c.Path, maxPointer)
		if gitdir.Faithful(rel, data) {
			return false
		}
	case gitdir.PartOf(rel) == gitdir.Redirect:
	case gitdir.PartOf(rel) == gitdir.Config:
		host, _ := g.sides.readHost(c.Path, maxConfig)
		box, ok := g.sides.readBox(c.Path, maxConfig)
		harm := "what cannot be read"
		if ok {
			at, tree := entryDir(c.Path), ""
			if strings.HasPrefix(rel, "modules/") {
				tree = entryDir(u.dir)
			}
			harm = gitdir.Harm(host, box, at, tree)
		}
		if harm != "" {
			hold(c, "sets "+gitdir.Plain(harm)+", which may make git run a program, or lead it elsewhere")
		}
		return harm != ""
	default:
		return false
	}
	hold(c, "leads git to another directory")
	return true
}

func entryDir(path string) string {
	dir, _ := entry.Split(path)
	return dir
}

const (
	maxConfig  = 1 << 20
	maxPointer = 8 << 10
)

func isHook(inner string) bool { return inner == "hooks" || strings.HasPrefix(inner, "hooks/") }

// isPointer recognises a .git file by its name.
func isPointer(c *changes.Change) bool {
	if !strings.HasSuffix(c.Path, "/.git") || c.From != "" {
		return false
	}
	return c.Sandbox.Type == entry.File || (c.Kind == changes.Deleted && c.Host.Type == entry.File)
}

// pointsTo finds the changed git directory that a .git file leads to, where
// that one says so too.
func (g *grouper) pointsTo(c *changes.Change) *unit {
	read, view := g.sides.readBox, func(dir string) gitdir.View { return boxView{g.sides, dir} }
	if c.Kind == changes.Deleted {
		read, view = g.sides.readHost, func(dir string) gitdir.View { return hostView{g.sides, dir} }
	}
	data, ok := read(c.Path, maxPointer)
	if !ok {
		return nil
	}
	target, ok := gitdir.Pointer(c.Path, data)
	if !ok {
		return nil
	}
	for _, u := range g.units {
		sub, inside := strings.CutPrefix(target, u.dir+"/")
		if inside && gitdir.PointsBack(view(u.dir), u.dir, sub, c.Path) {
			return u
		}
	}
	return nil
}
