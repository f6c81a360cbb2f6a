package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/gitdir"
)

// rowOf makes the row of a git directory, or the rows of its files where they
// are wanted. ok is false when nothing is left to say: an index that stages
// what the host's does is no change.
func (g *grouper) rowOf(u *unit) (rows []changes.Change, ok bool) {
	host, box := hostView{g.sides, u.dir}, boxView{g.sides, u.dir}
	var files []gitdir.File
	kept := u.members[:0]
	for i := range u.members {
		c := u.members[i]
		rel, inside := strings.CutPrefix(c.Path, u.dir+"/")
		if inside && gitdir.PartOf(rel) == gitdir.Index && c.Kind == changes.Modified && g.refreshed(host, box, rel) {
			continue
		}
		kept = append(kept, c)
		if inside && c.Host.Type != entry.Dir && c.Sandbox.Type != entry.Dir {
			files = append(files, gitdir.File{Path: rel, Before: c.Host.Exists() && c.Host.Type != "", After: c.Sandbox.Exists() && c.Sandbox.Type != ""})
		}
	}
	u.members = kept
	if len(kept) == 0 {
		return nil, false
	}
	if g.env.Open != nil && g.env.Open(u.dir) {
		for i := range kept {
			kept[i].Inside = u.dir
		}
		return kept, true
	}
	row := changes.Change{
		Path: u.dir, Kind: changes.Modified, Host: g.sides.hostEntry(u.dir), Sandbox: g.sides.boxEntry(u.dir), Base: changes.BaseSame,
		Git: &changes.Git{Members: slices.Clone(kept), New: !u.onHost},
	}
	row.Upper, _ = g.env.Tree.UpperPath(u.dir)
	switch {
	case !u.onHost:
		row.Kind = changes.Added
	case row.Sandbox.Exists() && u.gone:
		row.Kind = changes.TypeChanged
	case u.gone:
		row.Kind = changes.Deleted
	}
	if c := kept[0]; c.Path == u.dir {
		row.Sensitive = c.Sensitive // a link, say, in the place of the repository
	}
	row.Git.Report = gitdir.Describe(host, box, files, !u.onHost, u.gone)
	row.Git.Trouble = g.trouble(u, row.Git)
	row.Git.Print = printOf(row.Git)
	row.Conflict = row.Git.Trouble != ""
	return []changes.Change{row}, true
}

// refreshed reports whether two versions of an index stage the same.
func (g *grouper) refreshed(host, box gitdir.View, rel string) bool {
	a, ok := host.Read(rel, gitdir.MaxIndex)
	if !ok {
		return false
	}
	b, ok := box.Read(rel, gitdir.MaxIndex)
	return ok && gitdir.SameIndex(a, b)
}

// trouble finds out why a git directory cannot be taken now: the host's own
// HEAD, references or index moved on, or git is at work on either side. What
// only follows them (reflogs, FETCH_HEAD) is no reason: the host keeps its own.
func (g *grouper) trouble(u *unit, git *changes.Git) string {
	member := make(map[string]bool, len(git.Members))
	for i := range git.Members {
		c := &git.Members[i]
		member[c.Path] = true
		rel := strings.TrimPrefix(c.Path[min(len(c.Path), len(u.dir)+1):], "/")
		if !strings.HasPrefix(c.Path, u.dir+"/") {
			continue
		}
		part := gitdir.PartOf(rel)
		if part == gitdir.Lock && c.Sandbox.Type == entry.File && g.env.Running {
			return "git is at work in the sandbox, or was killed there: " + gitdir.Plain(rel) + " is there; wait, or stop the sandbox"
		}
		if c.Redirect {
			return "a directory in it was renamed"
		}
		if !c.Conflict || !part.Decides() || c.Host.Type == entry.Dir {
			continue
		}
		if part == gitdir.Index && g.onlyRefreshed(c) {
			c.Conflict, c.Base = false, changes.BaseSame // what the host's file system remembers is nobody's edit
			continue
		}
		return "the host's " + gitdir.Plain(rel) + " changed after the sandbox took its copy"
	}
	if !u.onHost {
		return ""
	}
	for _, name := range []string{"index.lock", "HEAD.lock", "packed-refs.lock"} {
		if g.sides.hostEntry(u.dir + "/" + name).Exists() {
			return "git is at work on the host, or was killed: " + name + " is there"
		}
	}
	if rel := g.movedOn(u, member); rel != "" {
		return "the host's " + gitdir.Plain(rel) + " changed after the sandbox took its copy"
	}
	return ""
}

// onlyRefreshed reports whether the host's index still stages what was copied up.
func (g *grouper) onlyRefreshed(c *changes.Change) bool {
	if g.env.Base == nil {
		return false
	}
	old, ok := g.env.Base(c.Path)
	if !ok {
		return false
	}
	now, ok := g.sides.readHost(c.Path, gitdir.MaxIndex)
	return ok && gitdir.SameIndex(old, now)
}

// maxBranches bounds how many of the host's branches are looked at.
const maxBranches = 10000

// movedOn finds a branch of the host, or its HEAD, that the sandbox has not
// touched but the host has, since the sandbox first wrote to the directory.
func (g *grouper) movedOn(u *unit, member map[string]bool) string {
	upper, ok := g.env.Tree.UpperPath(u.dir)
	if !ok {
		return ""
	}
	up := g.sides.upperEntry(upper)
	if !up.Exists() {
		return ""
	}
	since, looked := changes.Born(up), 0
	later := func(path string, e entry.Entry) bool {
		return !member[path] && e.CtimeNs > since && !changes.Accepted(upper, g.env.Tree.Xattr, e.CtimeNs)
	}
	if head := u.dir + "/HEAD"; later(head, g.sides.hostEntry(head)) {
		return "HEAD"
	}
	var walk func(dir string) string
	walk = func(dir string) string {
		fd, err := entry.OpenDirNoLinks(g.sides.root, dir)
		if err != nil {
			return ""
		}
		defer unix.Close(fd)
		list, err := entry.Reopen(fd)
		if err != nil {
			return ""
		}
		defer unix.Close(list)
		names, err := entry.ReadDir(list)
		if err != nil {
			return ""
		}
		for _, d := range names {
			if looked++; looked > maxBranches {
				return ""
			}
			path := dir + "/" + d.Name
			e, err := entry.At(fd, d.Name)
			switch {
			case err != nil:
			case e.Type == entry.Dir:
				if found := walk(path); found != "" {
					return found
				}
			case later(path, e):
				return path[len(u.dir)+1:]
			}
		}
		return ""
	}
	return walk(u.dir + "/refs/heads")
}

// printOf tells one state of a git directory from another: what the members
// are on both sides, by what the file systems say of them.
func printOf(git *changes.Git) entry.Print {
	h := sha256.New()
	for i := range git.Members {
		c := &git.Members[i]
		fmt.Fprintf(h, "%q %s", c.Path, c.Kind)
		for _, e := range []entry.Entry{c.Host, c.Sandbox} {
			size, mtime := e.Size, e.MtimeNs
			if e.Type == entry.Dir {
				size, mtime = 0, 0
			}
			fmt.Fprintf(h, " %s %d %d %d %o", e.Type, e.Ino, size, mtime, e.Mode)
		}
		h.Write([]byte{'\n'})
	}
	return entry.Print("git:" + hex.EncodeToString(h.Sum(nil)))
}

// Take gives the rows that an accept of a git directory carries out, each with
// its rank. What the host has under the same name already is left out where the
// name vouches for the content, and so is what only follows and was changed on
// the host too, and a lock.
func Take(row *changes.Change) (rows []changes.Change, ranks []int) {
	for _, c := range row.Git.Members {
		rel, inside := strings.CutPrefix(c.Path, row.Path+"/")
		part := gitdir.PartOf(rel)
		both := c.Host.Type == entry.File && c.Sandbox.Type == entry.File
		switch {
		case c.Path == row.Path:
			rows, ranks = append(rows, c), append(ranks, gitdir.Rank("", c.Sandbox.Type == entry.Dir, c.Kind == changes.Deleted))
		case !inside:
			rows, ranks = append(rows, c), append(ranks, gitdir.RankPointer)
		case part == gitdir.Lock, part.Stored() && both, c.Conflict && !part.Decides():
		default:
			rows = append(rows, c)
			ranks = append(ranks, gitdir.Rank(rel, c.Sandbox.Type == entry.Dir, c.Kind == changes.Deleted))
		}
	}
	return rows, ranks
}
