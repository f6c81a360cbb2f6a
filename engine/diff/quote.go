package diff

import (
	"fmt"
	"strings"
)

// quote writes a name as git does with core.quotePath off: in double quotes
// with C escapes when it has a control character, a quote or a backslash.
func quote(name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7F || r == '"' || r == '\\' }) {
		return name
	}
	return alwaysQuote(name)
}

// quoteWord also quotes names with blanks. Git would not, on its first line of
// a patch; but then `patch` does not find the name's end.
func quoteWord(name string) string {
	if strings.Contains(name, " ") {
		return alwaysQuote(name)
	}
	return quote(name)
}

// quoteLine writes a name for a --- or +++ line: after a name with a blank
// stands a tab, so that `patch` does not take what follows for a date.
func quoteLine(name string) string {
	quoted := quote(name)
	switch {
	case quoted != name, !strings.Contains(name, " "):
		return quoted
	case strings.HasSuffix(name, " "):
		return alwaysQuote(name)
	}
	return name + "\t"
}

var escapes = map[byte]string{
	'\a': `\a`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\v': `\v`, '\f': `\f`, '\r': `\r`, '"': `\"`, '\\': `\\`,
}

func alwaysQuote(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		c := name[i]
		switch escaped, ok := escapes[c]; {
		case ok:
			b.WriteString(escaped)
		case c < 0x20 || c == 0x7F:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
