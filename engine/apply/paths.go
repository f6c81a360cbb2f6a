package apply

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || below(path, dir)
}

// below reports whether path lies below dir.
func below(path, dir string) bool {
	if dir == "/" {
		return path != "/"
	}
	return len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}

// parent is the directory of an absolute path.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

func depth(path string) int { return strings.Count(path, "/") }

// pathText is a path in the journal: text, or bytes where it is none.
type pathText string

// MarshalJSON writes a string, or {"bytes": base64} for what is not UTF-8.
func (p pathText) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(p)) {
		return json.Marshal(string(p))
	}
	return json.Marshal(struct {
		Bytes []byte `json:"bytes"`
	}{[]byte(p)})
}

// UnmarshalJSON reads both forms.
func (p *pathText) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw struct {
			Bytes []byte `json:"bytes"`
		}
		err := json.Unmarshal(data, &raw)
		*p = pathText(raw.Bytes)
		return err
	}
	return json.Unmarshal(data, (*string)(p))
}
