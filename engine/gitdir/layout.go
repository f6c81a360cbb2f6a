package gitdir

import (
	"slices"
	"strings"
)

// Part says what a path inside a git directory is.
type Part int

// The parts. Other is what only follows the rest: reflogs, ORIG_HEAD, the last
// commit message.
const (
	Other Part = iota
	Object
	Pack
	PackIndex
	Config
	PackedRefs
	Ref
	Head
	Index
	Lock     // git is at work, or was killed
	Reftable // references in a format that is not read here
	Redirect // names another directory to read configuration and hooks from
)

// topLevel are the names that git keeps in a git directory. They tell where the
// name of a submodule ends, which may hold slashes.
var topLevel = []string{
	"HEAD", "objects", "refs", "config", "config.worktree", "index", "hooks", "logs", "info", "packed-refs", "description",
	"branches", "COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "modules", "worktrees", "commondir", "gitdir",
	"reftable", "shallow", "rebase-merge", "rebase-apply", "sequencer", "locked", "lfs",
}

// Split takes the directories of submodules and linked worktrees off a path:
// "modules/lib/refs/heads/x" is "refs/heads/x" in "modules/lib".
func Split(rel string) (sub, inner string) {
	inner = rel
	for {
		first, rest, found := strings.Cut(inner, "/")
		if !found || rest == "" || (first != "modules" && first != "worktrees") {
			return sub, inner
		}
		parts := strings.Split(rest, "/")
		end := 1
		if first == "modules" {
			for end < len(parts) && !slices.Contains(topLevel, strings.TrimSuffix(parts[end], ".lock")) {
				end++
			}
		}
		next := strings.Join(parts[end:], "/")
		if next == "" {
			return sub, inner // the directory itself
		}
		sub = Join(sub, first+"/"+strings.Join(parts[:end], "/"))
		inner = next
	}
}

// Join puts two relative paths together; either may be empty.
func Join(dir, name string) string {
	if dir == "" || name == "" {
		return dir + name
	}
	return dir + "/" + name
}

// PartOf says what a path is. It looks at the name only.
func PartOf(rel string) Part {
	sub, inner := Split(rel)
	base := inner[strings.LastIndexByte(inner, '/')+1:]
	switch {
	case strings.HasSuffix(base, ".lock"):
		return Lock
	case strings.HasPrefix(inner, "objects/"):
		switch {
		case isLoose(inner):
			return Object
		case strings.HasPrefix(inner, "objects/pack/") && !strings.HasSuffix(base, ".idx"):
			return Pack
		case inner == "objects/info/alternates" || inner == "objects/info/http-alternates":
			return Redirect
		}
		return PackIndex
	case strings.HasPrefix(inner, "refs/"):
		return Ref
	case strings.HasPrefix(inner, "reftable/"):
		return Reftable
	}
	switch inner {
	case "HEAD":
		return Head
	case "index":
		return Index
	case "packed-refs":
		return PackedRefs
	case "config", "config.worktree":
		return Config
	case "commondir":
		if isWorktree(sub) {
			return Other // what it must say is checked by Faithful
		}
		return Redirect
	}
	return Other
}

func isWorktree(sub string) bool {
	dir := sub[:max(0, strings.LastIndexByte(sub, '/'))]
	return dir == "worktrees" || strings.HasSuffix(dir, "/worktrees")
}

// isLoose recognises the name of a loose object.
func isLoose(inner string) bool {
	name, ok := strings.CutPrefix(inner, "objects/")
	if !ok || len(name) < 3 || name[2] != '/' {
		return false
	}
	return isID(name[:2] + name[3:])
}

// isID recognises the name of an object, SHA-1 or SHA-256.
func isID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Rank orders what is written, so that at no moment git finds a name for what
// is not there yet: objects, then the references to them, then HEAD, then the
// index; what is no longer needed goes last. dir says that it is a directory.
func Rank(rel string, dir, removed bool) int {
	if dir && !removed {
		return 1
	}
	switch part := PartOf(rel); {
	case removed && part == Ref:
		return 7 // after packed-refs has it
	case removed:
		return 10
	case part == Object, part == Pack:
		return 2
	case part == PackIndex:
		return 3 // git finds a pack by it
	case part == PackedRefs:
		return 5
	case part == Ref, part == Reftable:
		return 6
	case part == Head:
		return 8
	case part == Index:
		return 9
	}
	return 4
}

// RankPointer is the rank of a .git file, which leads to a git directory.
const RankPointer = 9

// Decides reports whether a part says where the repository stands: when the
// host's own changed, nobody may write over it.
func (p Part) Decides() bool {
	switch p {
	case PackedRefs, Ref, Head, Index, Reftable, Config, Redirect, Lock:
		return true
	}
	return false
}

// Stored reports whether a part is content that its name vouches for: the same
// name is the same content.
func (p Part) Stored() bool { return p == Object || p == Pack }
