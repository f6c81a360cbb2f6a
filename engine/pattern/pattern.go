// Package pattern decides which paths a person means by the names and patterns
// on a command line. It is pure: what exists is asked through Facts.
package pattern

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"sandbox/engine/fault"
)

// Facts is what a pattern needs to know about the machine and the change set.
type Facts struct {
	// Exists reports whether something of that absolute path is on the host or
	// in the change set, itself or as a directory above a change. A name that
	// exists is taken literally, whatever characters are in it.
	Exists func(abs string) bool
	// Resolve follows the symlinks of an absolute directory as far as it
	// exists on the host. The rest is appended as it is.
	Resolve func(dir string) string
}

// Pattern matches absolute paths.
type Pattern struct {
	// Text is the pattern as it was given.
	Text string
	// roots are the directories that glob is relative to, or the literal paths
	// when glob is "".
	roots []string
	glob  string
}

// Compile reads one pattern that is relative to the absolute directory dir.
//
//   - A name that exists, and one without any of *?[{\, is literal. It
//     means that path and, for a directory, all below it.
//   - Otherwise *, ?, [abc], {a,b} and ** (any number of directories) are
//     special; a directory that matches means all below it.
//   - Symlinks in the directory part are followed, the last name is not,
//     unless a slash ends it. One below dir is not followed out of dir: who
//     writes the project, an agent included, may have made it, and dir/link/f
//     must not come to mean a file of another folder.
func Compile(dir, text string, facts Facts) (Pattern, error) {
	p := Pattern{Text: text}
	if text == "" {
		return p, fault.New(fault.Usage, "read the pattern", `""`, "it is empty", "Use . for the working directory.")
	}
	if strings.ContainsRune(text, 0) {
		return p, fault.New(fault.Usage, "read the pattern", text, "it holds a NUL byte", "")
	}
	whole := text
	if !strings.HasPrefix(text, "/") {
		whole = dir + "/" + text
	}
	if abs := path.Clean(whole); !hasMeta(text) || facts.Exists(abs) {
		p.roots = literals(dir, abs, strings.HasSuffix(text, "/"), facts)
		return p, nil
	}

	base, rest := split(dir, text)
	if !doublestar.ValidatePattern(rest) {
		return p, fault.New(fault.Usage, "read the pattern", text, "a bracket or brace is not closed",
			`Put \ before a special character that is meant literally.`)
	}
	p.glob = rest
	p.roots = both(dir, base, facts.Resolve(base), facts)
	return p, nil
}

// literals are the paths that a literal name may mean: as it is written, and
// with the symlinks of its directory part followed.
func literals(dir, abs string, slash bool, facts Facts) []string {
	if slash {
		return both(dir, abs, facts.Resolve(abs), facts)
	}
	parent, name := path.Split(abs)
	return both(dir, abs, path.Join(facts.Resolve(path.Clean(parent)), name), facts)
}

// both are a path as it is written and what it leads to.
func both(dir, written, resolved string, facts Facts) []string {
	leaves := Below(written, dir) && !Below(resolved, facts.Resolve(dir))
	if written == resolved || leaves {
		return []string{written}
	}
	return []string{written, resolved}
}

// split takes the leading parts without special characters off a pattern.
func split(dir, text string) (base, rest string) {
	base = dir
	if strings.HasPrefix(text, "/") {
		base = "/"
	}
	parts := strings.Split(text, "/")
	for i, part := range parts {
		if hasMeta(part) {
			return base, strings.Trim(strings.Join(parts[i:], "/"), "/")
		}
		base = path.Join(base, part)
	}
	return base, "" // not reached: the caller knows that there is one
}

func hasMeta(s string) bool { return strings.ContainsAny(s, `*?[{\`) }

// Match reports whether abs, or a directory above it, is meant.
func (p Pattern) Match(abs string) bool {
	for _, root := range p.roots {
		if p.glob == "" {
			if Below(abs, root) {
				return true
			}
			continue
		}
		rel, ok := relative(abs, root)
		for ok && rel != "" {
			if doublestar.MatchUnvalidated(p.glob, rel) {
				return true
			}
			cut := strings.LastIndexByte(rel, '/')
			rel = rel[:max(cut, 0)]
		}
	}
	return false
}

// Names reports whether the pattern is literally abs: neither a directory
// above it nor a pattern that happens to match.
func (p Pattern) Names(abs string) bool {
	if p.glob != "" {
		return false
	}
	for _, root := range p.roots {
		if root == abs {
			return true
		}
	}
	return false
}

// Into reports whether the pattern begins below dir: it means something in
// there, and not all of it.
func (p Pattern) Into(dir string) bool {
	for _, root := range p.roots {
		if Below(root, dir) && (root != dir || p.glob != "") {
			return true
		}
	}
	return false
}

// Below reports whether abs is dir or lies below it.
func Below(abs, dir string) bool {
	_, ok := relative(abs, dir)
	return ok
}

// relative is abs seen from dir, "" for dir itself.
func relative(abs, dir string) (string, bool) {
	if abs == dir {
		return "", true
	}
	if dir == "/" {
		return strings.TrimPrefix(abs, "/"), true
	}
	rest, ok := strings.CutPrefix(abs, dir)
	if !ok || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}
