package rplugin

import (
	"path/filepath"
	"strconv"
	"strings"

	"sandbox/engine"
)

// fallbackName is used for a directory whose name has no usable character.
const fallbackName = "sandbox"

// projectName returns the name of the sandbox that belongs to a directory, and
// whether it exists. Another directory's sandbox of the same name is left alone
// by counting on: NAME-2, NAME-3 …. With fresh it is always a new one.
func projectName(sandboxes []engine.Info, dir string, fresh bool) (name string, exists bool) {
	owner := make(map[string]string, len(sandboxes))
	for _, s := range sandboxes {
		owner[s.Name] = s.Project
	}
	base := safeName(filepath.Base(dir))
	for n := 1; ; n++ {
		name = base
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		project, taken := owner[name]
		switch {
		case !taken:
			return name, false
		case project == dir && !fresh:
			return name, true
		}
	}
}

// safeName makes a sandbox name of any file name: letters, digits, dot, dash
// and underscore stay, all else becomes a dash, and neither a dot nor a dash
// comes first.
func safeName(base string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, base)
	clean = strings.TrimRight(strings.TrimLeft(clean, ".-"), "-")
	if len(clean) > 48 {
		clean = strings.TrimRight(clean[:48], "-.")
	}
	if clean == "" {
		return fallbackName
	}
	return clean
}
