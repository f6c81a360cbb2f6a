package gitdir

import (
	"path"
	"strings"
)

// Pointer reads a .git file that stands at the absolute path file: the absolute
// directory that it leads to, by its words alone. ok is false for anything else.
func Pointer(file string, data []byte) (dir string, ok bool) {
	target, ok := strings.CutPrefix(string(data), "gitdir: ")
	target = strings.TrimRight(target, "\r\n")
	if !ok || target == "" || len(data) > maxSmall || strings.ContainsAny(target, "\x00\n") {
		return "", false
	}
	if !path.IsAbs(target) {
		target = path.Dir(file) + "/" + target
	}
	return path.Clean(target), true
}

// PointsBack reports whether the directory sub of a git directory at the
// absolute path dir says itself that it belongs to the .git file: for a linked
// worktree by its gitdir, for a submodule by its core.worktree.
func PointsBack(view View, dir, sub, file string) bool {
	if inside, _ := Split(Join(sub, "HEAD")); inside != sub || sub == "" {
		return false
	}
	at := dir + "/" + sub
	if isWorktree(sub) {
		data, ok := view.Read(Join(sub, "gitdir"), maxSmall)
		back := strings.TrimRight(string(data), "\r\n")
		if !path.IsAbs(back) {
			back = at + "/" + back
		}
		return ok && path.Clean(back) == file
	}
	data, ok := view.Read(Join(sub, "config"), maxConfig)
	if !ok {
		return false
	}
	settings, err := ParseConfig(data)
	if err != nil {
		return false
	}
	for _, s := range settings {
		if s.Name == "core.worktree" {
			return path.Clean(at+"/"+s.Value) == path.Dir(file)
		}
	}
	return false
}

// Faithful reports whether a file that leads git to another directory, inside
// the directory of a linked worktree, leads where git itself makes it lead.
func Faithful(rel string, data []byte) bool {
	sub, inner := Split(rel)
	return inner == "commondir" && isWorktree(sub) && strings.TrimRight(string(data), "\r\n") == "../.."
}
