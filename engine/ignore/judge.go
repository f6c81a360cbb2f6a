package ignore

import (
	"fmt"
	"strings"
)

// Kind says where a rule stands.
type Kind string

// The kinds of rules.
const (
	Git     Kind = ".gitignore"
	Tool    Kind = ".ignore"
	Exclude Kind = ".git/info/exclude"
	Global  Kind = "your git ignore file"
	Noise   Kind = "built-in noise"
)

// Reason is the rule by which a path is ignored.
type Reason struct {
	Kind Kind
	// Top is the path that the rule names: the ignored one, or a directory above it.
	Top string
	// File and Line are where the rule stands; no file for noise.
	File string
	Line int
	// Text is the rule, or what a built-in one is about.
	Text string
	// Changed says that File is not the host's.
	Changed bool
}

// String is the reason in one line.
func (r *Reason) String() string {
	if r.Kind == Noise {
		return string(Noise) + ": " + r.Text
	}
	return fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Text)
}

// File is one rule file. No Path: there is none.
type File struct {
	Path    string
	Data    []byte
	Changed bool // it is not the host's
}

// Dir is what a directory holds for a Judge.
type Dir struct {
	// Repository says that a git repository begins here: rules from above end.
	Repository bool
	Exclude    File // its .git/info/exclude
	Git        File
	Tool       File
}

// Source gives the rule files of a tree.
type Source interface {
	Load(dir string) Dir
}

// Judge decides about the paths of one tree. What it found out about a
// directory it remembers, so a path costs the rules that are in force for its
// directory, and one below an ignored directory nothing.
type Judge struct {
	src    Source
	noise  bool
	home   string
	global *list
	dirs   map[string]*dir
	bytes  int // of rule files, together
	work   int // of all matching so far
}

// The bounds of one Judge.
const (
	maxBytes = 32 << 20
	maxWork  = 200_000_000 // a second or two; afterwards no rule matches
)

// Options are the rules that are in force everywhere.
type Options struct {
	Home   string // "" leaves out the noise of home directories
	Noise  bool
	Global File // counts in every repository, after all others
}

// New returns a judge of the tree that src gives.
func New(src Source, o Options) *Judge {
	j := &Judge{src: src, noise: o.Noise, home: strings.TrimSuffix(o.Home, "/"), dirs: map[string]*dir{}}
	j.global = j.read(o.Global, Global, "")
	return j
}

// list is one rule file in force, and those behind it.
type list struct {
	file  File
	kind  Kind
	base  string // the directory that paths are relative to
	rules []rule
	next  *list
}

// dir is what is known about a directory.
type dir struct {
	reason *Reason // it is ignored, and so is all below
	inGit  bool    // git's own: no rule is about it
	git    *list   // nearest first, then exclude and global
	tool   *list
}

// Of returns why an absolute path is ignored, nil when it is not.
func (j *Judge) Of(path string, isDir bool) *Reason {
	d := j.dir(parent(path))
	if d.reason != nil || d.inGit || isGitDir(path) {
		return d.reason
	}
	return j.decide(d, path, isDir)
}

func isGitDir(path string) bool { return strings.HasSuffix(path, "/.git") }

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// dir gives what is known about a directory, having looked at those above it.
func (j *Judge) dir(path string) *dir {
	if d, ok := j.dirs[path]; ok {
		return d
	}
	above := &dir{}
	if path != "/" {
		above = j.dir(parent(path))
	}
	d := j.enter(above, path)
	j.dirs[path] = d
	return d
}

// enter makes a directory's entry from that of the one above.
func (j *Judge) enter(above *dir, path string) *dir {
	if above.reason != nil || above.inGit {
		return above
	}
	if path != "/" {
		if isGitDir(path) {
			return &dir{inGit: true}
		}
		if r := j.decide(above, path, true); r != nil {
			return &dir{reason: r}
		}
	}
	files := j.src.Load(path)
	if !files.Repository && files.Git.Path == "" && files.Tool.Path == "" {
		return above
	}
	d := *above
	if files.Repository {
		d.git = j.push(files.Exclude, Exclude, path, j.global)
	}
	d.git = j.push(files.Git, Git, path, d.git)
	d.tool = j.push(files.Tool, Tool, path, d.tool)
	return &d
}

func (j *Judge) push(f File, kind Kind, base string, next *list) *list {
	l := j.read(f, kind, base)
	if l == nil {
		return next
	}
	l.next = next
	return l
}

func (j *Judge) read(f File, kind Kind, base string) *list {
	if f.Path == "" || j.bytes+len(f.Data) > maxBytes {
		return nil
	}
	rules := parse(f.Data)
	if len(rules) == 0 {
		return nil
	}
	j.bytes += len(f.Data)
	f.Data = nil
	return &list{file: f, kind: kind, base: base, rules: rules}
}

// decide applies the rules in force in a directory to an entry of it.
func (j *Judge) decide(d *dir, path string, isDir bool) *Reason {
	for _, l := range []*list{d.tool, d.git} {
		if r, found := j.find(l, path, isDir); found {
			return r
		}
	}
	return j.noiseOf(path, isDir)
}

// find gives the verdict of the first list that has one: nil and true for a
// rule that takes back what others say.
func (j *Judge) find(l *list, path string, isDir bool) (*Reason, bool) {
	base := path[strings.LastIndexByte(path, '/')+1:]
	for ; l != nil; l = l.next {
		rel := base
		if len(l.base) < len(path)-len(base) {
			rel = strings.TrimPrefix(path[len(l.base):], "/")
		}
		for i := len(l.rules) - 1; i >= 0; i-- {
			if j.work > maxWork {
				return nil, false
			}
			r := &l.rules[i]
			if !r.match(rel, base, isDir, &j.work) {
				continue
			}
			if r.negated {
				return nil, true
			}
			return &Reason{
				Kind: l.kind, Top: path, File: l.file.Path, Line: r.line, Text: r.source(), Changed: l.file.Changed,
			}, true
		}
	}
	return nil, false
}
