package engine

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/ignore"
	"sandbox/engine/sensitive"
)

// maxRuleFile is more than any rule file that counts (see package ignore).
const maxRuleFile = 1 << 20

// markIgnored says of each row whether an ignore rule leaves it out.
//
// What the host has not is judged by the rules of the sandbox's view, as git
// would inside: a project that was made there brings its own. What the host has
// is judged by the host's rules alone, so no rule that was written inside can
// hide what happened to the user's files.
func (b *box) markIgnored(set *changes.Set) {
	root, err := entry.OpenRoot()
	if err != nil {
		return // nothing is left out
	}
	defer unix.Close(root)
	home, _ := os.UserHomeDir()
	host := hostRules{root: root}
	o := ignore.Options{Home: home, Noise: true, Global: host.global(home)}
	onHost := ignore.New(&host, o)
	inside := onHost
	if marks := landmarks(set); marks.rules {
		inside = ignore.New(&sandboxRules{b: b, host: &host, marks: marks}, o)
	}
	gone := map[string]*ignore.Reason{} // directories that are no more
	for i := range set.Changes {
		c := &set.Changes[i]
		c.Ignored = judge(c, onHost, inside, gone)
		if c.Host.Type == entry.Dir && (c.Kind == changes.Deleted || c.Kind == changes.TypeChanged) {
			gone[c.Path] = c.Ignored
		}
	}
}

// judge decides about one row; the rows of the directories above it came before.
func judge(c *changes.Change, onHost, inside *ignore.Judge, gone map[string]*ignore.Reason) *ignore.Reason {
	if c.Kind == changes.Deleted {
		// It goes with its directory.
		if r, ok := gone[path.Dir(c.Path)]; ok {
			return r
		}
	}
	var r *ignore.Reason
	if c.Kind == changes.Added || c.Kind == changes.Renamed {
		r = inside.Of(c.Path, c.Sandbox.Type == entry.Dir)
	}
	if c.Kind != changes.Added && (c.Kind != changes.Renamed || r != nil) {
		// The user's own file may be in his repository, whatever the rules say
		// of its name. One in an ignored directory is not, or not likely.
		at := hostPath(*c)
		if r = onHost.Of(at, c.Host.Type == entry.Dir); r != nil && r.Kind != ignore.Noise && r.Top == at && c.Host.Type != entry.Dir {
			return nil
		}
	}
	if r == nil || shownAnyway(c, r) {
		return nil
	}
	return r
}

// shownAnyway says which changes no rule hides: rule files in force, and what
// is sensitive. Of that, a mere mark (a new executable, a link that leads out)
// counts for nothing in a directory that the user's own rules ignore: build
// outputs and installed packages are full of them, and they run only when asked to.
func shownAnyway(c *changes.Change, r *ignore.Reason) bool {
	below := r.Top != c.Path && r.Top != c.From
	switch {
	case c.Git != nil:
		return !below
	case c.Sensitive != nil && c.Sensitive.Level == sensitive.LevelHold:
		return true
	case c.Sensitive != nil:
		return !below || r.Changed
	case below:
		return false
	}
	name := path.Base(c.Path)
	return name == string(ignore.Git) || name == string(ignore.Tool)
}

// tally counts what ignore rules left out.
type tally struct {
	total int
	by    map[IgnoredBy]*IgnoredBy
}

func (t *tally) add(c *changes.Change) {
	key := IgnoredBy{Kind: c.Ignored.Kind, Changed: c.Ignored.Changed}
	if t.by == nil {
		t.by = map[IgnoredBy]*IgnoredBy{}
	}
	if t.by[key] == nil {
		n := key
		t.by[key] = &n
	}
	t.total++
	t.by[key].Count++
	if c.Sensitive != nil {
		t.by[key].Marked++
	}
}

func (t *tally) list() []IgnoredBy {
	var out []IgnoredBy
	for _, n := range t.by {
		out = append(out, *n)
	}
	slices.SortFunc(out, func(a, b IgnoredBy) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(fmt.Sprint(a.Changed), fmt.Sprint(b.Changed)))
	})
	return out
}

// hostRules reads the rule files of the host.
type hostRules struct{ root int }

// Load gives the rule files of a directory of the host.
func (h *hostRules) Load(dir string) ignore.Dir {
	fd, err := entry.OpenDirNoLinks(h.root, dir)
	if err != nil {
		return ignore.Dir{}
	}
	defer unix.Close(fd)
	out := ignore.Dir{
		Git:  ruleFile(fd, dir, string(ignore.Git)),
		Tool: ruleFile(fd, dir, string(ignore.Tool)),
	}
	out.Repository, out.Exclude = repository(fd, dir)
	return out
}

// repository looks for a git directory, and for the rules that only this clone has.
func repository(fd int, dir string) (bool, ignore.File) {
	git, err := entry.At(fd, ".git")
	if err != nil || !git.Exists() {
		return false, ignore.File{}
	}
	if git.Type != entry.Dir {
		return true, ignore.File{}
	}
	info, err := entry.OpenBeneath(fd, ".git/info", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return true, ignore.File{}
	}
	defer unix.Close(info)
	return true, ruleFile(info, join(dir, ".git/info"), "exclude")
}

// ruleFile reads a rule file. A symlink is none, as for git, and neither is
// what is too large.
func ruleFile(fd int, dir, name string) ignore.File {
	data, _, err := entry.ReadFile(fd, name, maxRuleFile)
	if err != nil {
		return ignore.File{}
	}
	return ignore.File{Path: join(dir, name), Data: data}
}

// global is the user's own ignore file, where git looks for it by itself.
func (h *hostRules) global(home string) ignore.File {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !path.IsAbs(dir) {
		if home == "" {
			return ignore.File{}
		}
		dir = join(home, ".config")
	}
	data, err := os.ReadFile(join(dir, "git/ignore")) //nolint:gosec // the user's own choice of a file of his
	if err != nil {
		return ignore.File{}
	}
	return ignore.File{Path: join(dir, "git/ignore"), Data: data}
}

func join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

// marks are the rows that say what rules are in force inside.
type marks struct {
	at    map[string]*changes.Change // rule files, .git, and directories that are new or moved
	left  map[string]bool            // rule files that were moved away
	rules bool                       // there is a rule file or a repository among them
}

func landmarks(set *changes.Set) marks {
	m := marks{at: map[string]*changes.Change{}, left: map[string]bool{}}
	for i := range set.Changes {
		c := &set.Changes[i]
		switch {
		case isRuleName(c.Path):
			m.at[c.Path], m.rules = c, true
		case c.Sandbox.Type == entry.Dir && c.Kind != changes.Attributes:
			m.at[c.Path] = c
		}
		if c.Kind == changes.Renamed {
			if isRuleName(c.From) {
				m.left[c.From], m.rules = true, true
			}
			m.rules = m.rules || c.Redirect
		}
	}
	return m
}

func isRuleName(p string) bool {
	switch p[strings.LastIndexByte(p, '/')+1:] {
	case ".git", string(ignore.Git), string(ignore.Tool):
		return true
	}
	return false
}

// sandboxRules gives the rule files of the sandbox's view: the host's, but for
// what changed.
type sandboxRules struct {
	b     *box
	host  *hostRules
	marks marks
}

// Load gives the rule files that a directory has in the sandbox.
func (s *sandboxRules) Load(dir string) ignore.Dir {
	var out ignore.Dir
	if at := s.hostOf(dir); at != "" {
		out = s.host.Load(at)
	}
	for name, f := range map[string]*ignore.File{string(ignore.Git): &out.Git, string(ignore.Tool): &out.Tool} {
		if c, ok := s.marks.at[join(dir, name)]; ok {
			*f = s.read(c)
		} else if s.marks.left[join(dir, name)] {
			*f = ignore.File{}
		}
	}
	if c, ok := s.marks.at[join(dir, ".git")]; ok {
		out.Repository = c.Sandbox.Exists()
	}
	return out
}

// hostOf is where the host has a directory of the sandbox, "" when it has not.
func (s *sandboxRules) hostOf(dir string) string {
	for at := dir; ; at = path.Dir(at) {
		if c, ok := s.marks.at[at]; ok {
			switch {
			case c.Redirect:
				return c.From + dir[len(at):]
			case !c.Host.Exists() || c.Host.Type != entry.Dir:
				return ""
			}
		}
		if at == "/" {
			return dir
		}
	}
}

// read gives the content of a rule file that changed.
func (s *sandboxRules) read(c *changes.Change) ignore.File {
	if c.Sandbox.Type != entry.File {
		return ignore.File{}
	}
	var data []byte
	if c.Upper == "" {
		root, err := entry.OpenRoot()
		if err != nil {
			return ignore.File{}
		}
		defer unix.Close(root)
		fd, name, err := entry.OpenParent(root, hostPath(*c))
		if err != nil {
			return ignore.File{}
		}
		defer unix.Close(fd)
		data, _, _ = entry.ReadFile(fd, name, maxRuleFile)
	} else {
		fd, name, err := s.b.openUpper(c.Upper)
		if err != nil {
			return ignore.File{}
		}
		defer unix.Close(fd)
		data, _, _ = entry.ReadFile(fd, name, maxRuleFile)
	}
	return ignore.File{Path: c.Path, Data: data, Changed: c.Kind != changes.Attributes}
}
