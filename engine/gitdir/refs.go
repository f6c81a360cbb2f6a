package gitdir

import (
	"bytes"
	"path"
	"strings"
)

// ReadHead says what HEAD is: the full name of a branch, or the id of a commit.
// Both are "" where it is neither.
func ReadHead(data []byte) (ref, id string) {
	text := strings.TrimRight(string(data), "\n")
	if name, ok := strings.CutPrefix(text, "ref:"); ok {
		name = strings.TrimLeft(name, " \t")
		if validRef(name) {
			return name, ""
		}
		return "", ""
	}
	if isID(text) {
		return "", text
	}
	return "", ""
}

// validRef refuses what git would not take as the name of a reference.
func validRef(name string) bool {
	if !strings.HasPrefix(name, "refs/") || path.Clean(name) != name || len(name) > 4096 {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsAny(name, " ~^:?*[\\\x7f") && !strings.Contains(name, "..") && !strings.Contains(name, "@{") &&
		strings.IndexFunc(name, func(r rune) bool { return r < 0x20 }) < 0
}

// refValue is what a loose reference holds: an id, or "ref: NAME".
func refValue(data []byte) string {
	ref, id := ReadHead(data)
	if ref != "" {
		return "ref: " + ref
	}
	return id
}

// packedRefs reads packed-refs: names and ids. Lines that make no sense are
// passed over, as they name nothing.
func packedRefs(data []byte) map[string]string {
	refs := map[string]string{}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		id, name, ok := strings.Cut(string(line), " ")
		if ok && isID(id) && validRef(name) {
			refs[name] = id
		}
	}
	return refs
}

// refs looks references up in one version of a git directory.
type refs struct {
	view   View
	sub    string
	packed map[string]string
}

func newRefs(view View, sub string) *refs {
	data, _ := view.Read(Join(sub, "packed-refs"), maxPacked)
	return &refs{view: view, sub: sub, packed: packedRefs(data)}
}

func (r *refs) get(name string) string {
	if data, ok := r.view.Read(Join(r.sub, name), maxSmall); ok {
		if v := refValue(data); v != "" {
			return v
		}
	}
	return r.packed[name]
}
