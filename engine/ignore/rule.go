package ignore

import (
	"bytes"
	"strings"
)

// rule is one line of a rule file.
type rule struct {
	text    string // without ! and the slash at the end
	prefix  string // what stands before the first special character
	glob    glob   // what comes then
	tail    string // what it ends with, as far as that is plain
	line    int
	negated bool // !
	dirOnly bool // a slash at the end
	inPath  bool // a slash elsewhere: matched against the path below the rule file
	plain   bool // no special characters at all
	suffix  bool // * and a plain text
}

// The bounds of one rule file. One that is larger holds no rules: it would
// cost more than it helps, and what is not left out is shown.
const (
	maxFile  = 1 << 20
	maxRules = 10_000
	maxLine  = 4096
)

// parse reads a rule file as git does.
func parse(data []byte) []rule {
	if len(data) > maxFile {
		return nil
	}
	var rules []rule
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if i := bytes.IndexByte(line, 0); i >= 0 {
			line = line[:i] // git's strings end there
		}
		text := trimSpaces(string(line))
		if text == "" || len(text) > maxLine {
			continue
		}
		if len(rules) == maxRules {
			return nil
		}
		if r, ok := parseRule(text); ok {
			r.line = n
			rules = append(rules, r)
		}
	}
	return rules
}

// trimSpaces takes spaces off the end, but not one behind a backslash.
func trimSpaces(s string) string {
	end := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if end < 0 {
				end = i
			}
			continue
		case '\\':
			if i++; i == len(s) {
				return s
			}
		}
		end = -1
	}
	if end < 0 {
		return s
	}
	return s[:end]
}

const special = `*?[\`

func parseRule(text string) (rule, bool) {
	var r rule
	text, r.negated = strings.CutPrefix(text, "!")
	text, r.dirOnly = strings.CutSuffix(text, "/")
	r.inPath = strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		return r, false
	}
	r.text = text
	i := strings.IndexAny(text, special)
	r.plain = i < 0
	r.suffix = !r.inPath && i == 0 && text[0] == '*' && !strings.ContainsAny(text[1:], special)
	if !r.plain && !r.suffix {
		// As git does it: what follows the plain part is a pattern of its own,
		// so that ** counts as such also behind other characters.
		r.prefix, r.glob = text[:i], compileGlob(text[i:])
		for n := len(r.glob.tokens); n > 0 && r.glob.tokens[n-1].kind == literal; n-- {
			r.tail = string([]byte{r.glob.tokens[n-1].char}) + r.tail
		}
	}
	return r, true
}

// match reports whether the rule is about a path: rel is the path below the
// rule file's directory, base its last component. work counts what it costs.
func (r *rule) match(rel, base string, isDir bool, work *int) bool {
	*work++
	if r.dirOnly && !isDir {
		return false
	}
	text := base
	if r.inPath {
		text = rel
	}
	switch {
	case r.plain:
		return text == r.text
	case r.suffix:
		return strings.HasSuffix(text, r.text[1:])
	default:
		rest, ok := strings.CutPrefix(text, r.prefix)
		return ok && strings.HasSuffix(rest, r.tail) && r.glob.match(rest, work)
	}
}

// source is the rule as it was written, but for an escape of its first byte.
func (r *rule) source() string {
	s := r.text
	if r.inPath && !strings.Contains(s, "/") {
		s = "/" + s
	}
	if r.dirOnly {
		s += "/"
	}
	return s
}
