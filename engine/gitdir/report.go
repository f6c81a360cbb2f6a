package gitdir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// File is one changed file of a git directory.
type File struct {
	Path           string // relative to the git directory
	Before, After  bool   // whether it is there on the host, and in the sandbox
	SameIndexEntry bool   // an index that stages what the host's does
}

// Moved is a reference that stands elsewhere than on the host.
type Moved struct {
	Name    string `json:"name"` // "main", or a full name such as "refs/tags/v1"
	Kind    string `json:"kind"` // created, moved, deleted
	Old     string `json:"old,omitempty"`
	New     string `json:"new,omitempty"`
	Commits int    `json:"commits"` // that came with it, as far as they can be counted
	Ahead   bool   `json:"ahead"`   // they stand on what the host has
}

// Report is what changed in a git directory, for people and for programs.
type Report struct {
	Summary  string  `json:"summary"` // one line, "git: …"
	Objects  int     `json:"objects"` // new loose ones
	Packs    int     `json:"packs"`   // new ones
	Removed  int     `json:"removed"` // objects and packs that are gone
	Branches []Moved `json:"branches"`
	Refs     []Moved `json:"refs"` // tags, remote branches, the stash
	Head     string  `json:"head,omitempty"`
	// Unreadable says that references are kept in a way that is not read here.
	Unreadable bool `json:"unreadable,omitempty"`
}

// Loses reports whether commits may be in there that nothing else names.
func (r *Report) Loses() bool {
	return r.Objects > 0 || r.Packs > 0 || r.Unreadable || slices.ContainsFunc(slices.Concat(r.Branches, r.Refs),
		func(m Moved) bool { return m.Kind != "deleted" })
}

// reporter collects the words.
type reporter struct {
	Report
	host, sandbox View
	words         []string
}

// Describe says what the changed files of a git directory amount to. added and
// deleted are for a repository that one side has not at all.
func Describe(host, sandbox View, files []File, added, deleted bool) Report {
	r := &reporter{host: host, sandbox: sandbox}
	r.Branches, r.Refs = []Moved{}, []Moved{}
	subs := map[string][]File{}
	for _, f := range files {
		sub, inner := Split(f.Path)
		f.Path = inner
		subs[sub] = append(subs[sub], f)
	}
	switch {
	case added:
		r.say("new repository")
	case deleted:
		r.say("repository deleted")
	}
	for _, sub := range sortedKeys(subs) {
		r.sub(sub, subs[sub], added || deleted)
	}
	if len(r.words) == 0 {
		r.say("changed")
	}
	r.Summary = "git: " + strings.Join(r.words, ", ")
	return r.Report
}

func (r *reporter) say(format string, args ...any) {
	r.words = append(r.words, fmt.Sprintf(format, args...))
}

// sub describes the directory of one repository, submodule or worktree.
func (r *reporter) sub(sub string, files []File, brief bool) {
	before := len(r.words)
	fresh := map[string]bool{}
	objects, packs, removed := 0, 0, 0
	touched := map[string]bool{}
	packed, head, index, config, unread := false, false, false, false, false
	for _, f := range files {
		switch PartOf(f.Path) {
		case Object:
			switch {
			case f.After && !f.Before:
				objects++
				name := strings.TrimPrefix(f.Path, "objects/")
				fresh[name[:2]+name[3:]] = true
			case !f.After:
				removed++
			}
		case Pack:
			if strings.HasSuffix(f.Path, ".pack") {
				if f.After && !f.Before {
					packs++
				} else if !f.After {
					removed++
				}
			}
		case PackedRefs:
			packed = true
		case Ref:
			if validRef(f.Path) {
				touched[f.Path] = true
			}
		case Head:
			head = true
		case Index:
			index = index || !f.SameIndexEntry
		case Config:
			config = true
		case Reftable:
			unread = true
		}
	}
	r.Objects, r.Packs, r.Removed = r.Objects+objects, r.Packs+packs, r.Removed+removed
	r.Unreadable = r.Unreadable || unread
	if objects > 0 {
		r.say("%s", count(objects, "new object"))
	}
	if packs > 0 {
		r.say("%s", count(packs, "new pack"))
	}
	if removed > 0 && !brief {
		r.say("%s gone", count(removed, "object or pack"))
	}
	r.references(sub, touched, packed, fresh)
	if head {
		r.head(sub)
	}
	if index && !brief {
		r.say("index changed")
	}
	if config && !brief {
		r.say("configuration changed")
	}
	if unread {
		r.say("references changed (reftable)")
	}
	if len(r.words) == before && len(files) > 0 && !brief {
		r.say("only notes of git's own")
	}
	if sub != "" && len(r.words) > before {
		kind, name, _ := strings.Cut(sub, "/")
		kind = map[string]string{"modules": "submodule", "worktrees": "worktree"}[kind]
		r.words[before] = kind + " " + Plain(name) + ": " + r.words[before]
	}
}

// maxNamed is how many references a summary names one by one.
const maxNamed = 3

func (r *reporter) references(sub string, touched map[string]bool, packed bool, fresh map[string]bool) {
	if len(touched) == 0 && !packed {
		return
	}
	host, sandbox := newRefs(r.host, sub), newRefs(r.sandbox, sub)
	if packed {
		for name, id := range host.packed {
			if sandbox.packed[name] != id {
				touched[name] = true
			}
		}
		for name, id := range sandbox.packed {
			if host.packed[name] != id {
				touched[name] = true
			}
		}
	}
	var words []string
	for _, name := range sortedKeys(touched) {
		m := Moved{Name: name, Kind: "moved", Old: host.get(name), New: sandbox.get(name)}
		if m.Old == m.New {
			continue // only kept in another place
		}
		switch {
		case m.Old == "":
			m.Kind = "created"
		case m.New == "":
			m.Kind = "deleted"
		}
		m.Commits, m.Ahead = newCommits(r.sandbox, sub, m.New, m.Old, fresh)
		word := "reference " + Plain(name)
		if short, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			m.Name, word = Join(sub, short), "branch "+Plain(short)
			r.Branches = append(r.Branches, m)
		} else {
			m.Name = Join(sub, name)
			if tag, ok := strings.CutPrefix(name, "refs/tags/"); ok {
				word = "tag " + Plain(tag)
			}
			r.Refs = append(r.Refs, m)
		}
		words = append(words, word+" "+m.words())
	}
	if len(words) > maxNamed {
		more := len(words) - maxNamed
		words = append(words[:maxNamed], count(more, "more reference"))
	}
	r.words = append(r.words, words...)
}

func (m *Moved) words() string {
	switch {
	case m.Commits > 0 && m.Ahead:
		return fmt.Sprintf("%s (%s ahead)", m.Kind, count(m.Commits, "commit"))
	case m.Commits > 0:
		return fmt.Sprintf("%s (%s)", m.Kind, count(m.Commits, "new commit"))
	}
	return m.Kind
}

func (r *reporter) head(sub string) {
	data, _ := r.sandbox.Read(Join(sub, "HEAD"), maxSmall)
	ref, id := ReadHead(data)
	old, _ := r.host.Read(Join(sub, "HEAD"), maxSmall)
	was, wasID := ReadHead(old)
	var now string
	switch {
	case ref != "":
		now = strings.TrimPrefix(ref, "refs/heads/")
	case id != "":
		now = id[:12]
	default:
		return
	}
	if sub == "" {
		r.Head = now
	}
	switch {
	case ref == was && id == wasID:
	case id != "" && wasID == "":
		r.say("HEAD detached at %s", now)
	case was == "" && wasID == "":
		r.say("HEAD on %s", Plain(now))
	default:
		r.say("HEAD switched to %s", Plain(now))
	}
}

// Plain makes a name safe to stand in a line of text, whatever is in it.
func Plain(name string) string {
	const most = 60
	if quoted := strconv.Quote(name); quoted[1:len(quoted)-1] != name {
		name = quoted
	}
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most-1]) + "…"
	}
	return name
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasPrefix(what, "object or pack") {
		return fmt.Sprintf("%d objects or packs", n)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
