package gitdir

import (
	"bytes"
	"compress/zlib"
	"io"
)

// How much is inflated of one object, and how many are looked at.
const (
	maxInflate = 64 << 10
	maxCommits = 1000
)

// parents reads the parents of a commit that is a loose object. The start of
// an object is enough, so one that would inflate without end costs nothing.
func parents(view View, sub, id string) (ids []string, ok bool) {
	data, ok := view.Read(Join(sub, "objects/"+id[:2]+"/"+id[2:]), maxObject)
	if !ok {
		return nil, false
	}
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, false
	}
	text, _ := io.ReadAll(io.LimitReader(z, maxInflate)) // a message may be longer
	kind, text, ok := bytes.Cut(text, []byte{0})
	if !ok || !bytes.HasPrefix(kind, []byte("commit ")) {
		return nil, false
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		key, value, _ := bytes.Cut(line, []byte(" "))
		switch string(key) {
		case "tree":
		case "parent":
			if !isID(string(value)) {
				return nil, false
			}
			ids = append(ids, string(value))
		default:
			return ids, true
		}
	}
	return ids, true
}

// newCommits counts the commits that tip brings along, and says whether old is
// right below one of them.
func newCommits(view View, sub, tip, old string, fresh map[string]bool) (n int, ahead bool) {
	seen := map[string]bool{tip: true}
	queue := []string{tip}
	for len(queue) > 0 && n < maxCommits {
		id := queue[0]
		queue = queue[1:]
		if !isID(id) || !fresh[id] {
			continue
		}
		up, ok := parents(view, sub, id)
		if !ok {
			continue
		}
		n++
		for _, p := range up {
			ahead = ahead || p == old
			if !seen[p] && len(seen) < 8*maxCommits {
				seen[p] = true
				queue = append(queue, p)
			}
		}
	}
	return n, ahead
}
