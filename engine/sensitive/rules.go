package sensitive

import (
	"path"
	"strings"

	"sandbox/engine/entry"
)

// For says whether a change of path is sensitive and why; nil for nearly all.
// home is the user's home directory ("" when it is not known), host and
// sandbox are the two sides. The strongest of all reasons is returned.
func For(p, home string, host, sandbox entry.Entry) *Mark {
	f := Finder{Home: home}
	return f.For(p, host, sandbox)
}

// Finder asks the catalogue about many paths; in order of path it is faster
// than For, because what holds for a directory is looked up once.
type Finder struct {
	Home string

	dir     string // the last directory asked about
	dirMark *Mark  // what its place and those above it give to all below
}

// For is the function For with the Finder's home.
func (f *Finder) For(p string, host, sandbox entry.Entry) *Mark {
	return worst(
		git(p, host, sandbox),
		f.listed(p, host, sandbox),
		byMode(host, sandbox),
		byName(p, host, sandbox),
		f.link(p, host, sandbox),
	)
}

// ForTree says whether something below a directory could be sensitive when
// the directory comes to path as a whole: a rename lists nothing below itself.
func ForTree(p, home string) *Mark {
	if isGitDir(path.Base(p)) {
		return &Mark{LevelHold, "a git directory names programs that git runs"}
	}
	x := index()
	return worst(x.find(&x.above, p, home), x.find(&x.tree, p, home))
}

func worst(marks ...*Mark) *Mark {
	var best *Mark
	for _, m := range marks {
		if m != nil && (best == nil || (best.Level == LevelMark && m.Level == LevelHold)) {
			best = m
		}
	}
	return best
}

// newDir is a directory that the host has not: nothing runs because of it, and
// what is in it has rows of its own.
func newDir(host, sandbox entry.Entry) bool {
	return sandbox.Type == entry.Dir && !host.Exists()
}

func isGitDir(name string) bool { return strings.HasSuffix(name, ".git") }

// git covers repositories of every kind: .git, bare ones (x.git), and the
// directories of submodules and worktrees inside them.
func git(p string, host, sandbox entry.Entry) *Mark {
	if !strings.Contains(p, ".git") {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	last := len(parts) - 1
	for i, part := range parts {
		if !isGitDir(part) {
			continue
		}
		if i == last {
			if part == ".git" && sandbox.Exists() && sandbox.Type != entry.Dir {
				return &Mark{LevelHold, "points git to a directory whose configuration names programs"}
			}
			return nil
		}
		if newDir(host, sandbox) {
			return nil
		}
		inside := parts[i+1:]
		nested := inside[0] == "modules" || inside[0] == "worktrees"
		for j, name := range inside {
			if j > 0 && !nested {
				break
			}
			end := j == len(inside)-1
			switch {
			case name == "hooks" && !strings.HasSuffix(parts[last], ".sample"):
				return &Mark{LevelHold, "git runs it as a hook"}
			case end && (name == "config" || name == "config.worktree"):
				return &Mark{LevelHold, "names programs that git runs"}
			case name == "info" && parts[last] == "attributes":
				return &Mark{LevelHold, "chooses which filters git runs"}
			}
		}
		return nil
	}
	return nil
}

// newBuildFile are names of what is run when a project is built. A change of one
// is everyday work; one that appears is worth a look.
var newBuildFile = map[string]bool{
	"Makefile": true, "makefile": true, "GNUmakefile": true, "package.json": true, "justfile": true, "Justfile": true,
	"Taskfile.yml": true, "Rakefile": true, "Vagrantfile": true, "setup.py": true, "conftest.py": true, "build.rs": true,
}

// byName knows places that a list of paths cannot tell.
func byName(p string, host, sandbox entry.Entry) *Mark {
	if sandbox.Type == entry.Dir {
		return nil
	}
	base := p[strings.LastIndexByte(p, '/')+1:]
	switch {
	case strings.HasSuffix(base, ".pth") && strings.HasSuffix(parent(p), "-packages"):
		return &Mark{LevelHold, "runs when Python starts"}
	case strings.HasSuffix(base, ".code-workspace"), strings.HasSuffix(base, ".sublime-project"):
		return &Mark{LevelMark, "names programs that the editor runs"}
	case newBuildFile[base] && !host.Exists() && !installed(p):
		return &Mark{LevelMark, "new, and runs when the project is built"}
	}
	return nil
}

// installed reports whether p belongs to a package that a package manager put there.
func installed(p string) bool {
	for _, dir := range []string{"/node_modules/", "/vendor/", "/site-packages/", "/dist-packages/", "/.cargo/registry/", "/go/pkg/mod/"} {
		if strings.Contains(p, dir) {
			return true
		}
	}
	return false
}

func byMode(host, sandbox entry.Entry) *Mark {
	switch sandbox.Type {
	case entry.Char, entry.Block:
		return &Mark{LevelHold, "a device"}
	case entry.File:
	default:
		return nil
	}
	had := uint32(0)
	if host.Type == entry.File {
		had = host.Mode
	}
	gained := sandbox.Mode &^ had
	switch {
	case gained&0o4000 != 0:
		return &Mark{LevelHold, "runs with its owner's rights (setuid)"}
	case gained&0o2000 != 0 && sandbox.Mode&0o010 != 0:
		return &Mark{LevelHold, "runs with its group's rights (setgid)"}
	case had&0o111 == 0 && gained&0o111 != 0:
		return &Mark{LevelMark, "newly executable"}
	}
	return nil
}

// link marks a new symlink that leaves the tree it lies in: an absolute target
// outside the link's own directory, a relative one that climbs out of the home
// directory (outside a home: out of the top-level directory), and one that
// leads to a place of the catalogue.
func (f *Finder) link(p string, host, sandbox entry.Entry) *Mark {
	if sandbox.Type != entry.Symlink || (host.Type == entry.Symlink && host.Target == sandbox.Target) {
		return nil
	}
	x := index()
	if m := x.find(&x.above, p, f.Home); m != nil && m.Level == LevelHold {
		return m // all that is looked for below it is elsewhere now
	}
	leaves := &Mark{LevelMark, "a link that leaves the tree"}
	target := sandbox.Target
	if strings.HasPrefix(target, "/") {
		if !within(path.Clean(target), path.Dir(p)) {
			return leaves
		}
		return nil
	}
	to := path.Join(path.Dir(p), target)
	tree, _ := homeOf(p, f.Home)
	if tree == "" {
		top, _, _ := strings.Cut(p[min(1, len(p)):], "/")
		tree = "/" + top
	}
	if !within(to, tree) {
		return leaves
	}
	there := Finder{Home: f.Home}
	if m := there.listed(to, entry.Entry{}, entry.Entry{Type: entry.File}); m != nil && f.listed(p, host, sandbox) == nil {
		return &Mark{LevelMark, "a link to what " + m.Reason}
	}
	return nil
}

func within(p, dir string) bool {
	return dir == "/" || p == dir || strings.HasPrefix(p, dir+"/")
}

// homeOf returns the home directory that p lies in, and p relative to it:
// the user's, root's, or any below /home.
func homeOf(p, home string) (dir, rel string) {
	for _, h := range []string{strings.TrimSuffix(home, "/"), "/root"} {
		if h != "" && strings.HasPrefix(p, h+"/") {
			return h, p[len(h)+1:]
		}
	}
	if rest, ok := strings.CutPrefix(p, "/home/"); ok {
		if user, rel, ok := strings.Cut(rest, "/"); ok {
			return "/home/" + user, rel
		}
	}
	return "", ""
}
