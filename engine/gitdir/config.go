package gitdir

import (
	"errors"
	"path"
	"slices"
	"strings"
)

// Setting is one line of a git configuration: section.subsection.key, with
// section and key in lower case, and its value.
type Setting struct{ Name, Value string }

var errConfig = errors.New("it cannot be read as a git configuration")

// ParseConfig reads a git configuration. What git might read otherwise is an
// error, never a guess.
func ParseConfig(data []byte) ([]Setting, error) {
	if len(data) > maxConfig || strings.IndexByte(string(data), 0) >= 0 {
		return nil, errConfig
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out []Setting
	section := ""
	for text != "" {
		text = strings.TrimLeft(text, " \t\n\v\f\r")
		switch {
		case text == "":
		case text[0] == '#' || text[0] == ';':
			_, text, _ = strings.Cut(text, "\n")
		case text[0] == '[':
			var err error
			if section, text, err = parseSection(text[1:]); err != nil {
				return nil, err
			}
		default:
			var s Setting
			var err error
			if s, text, err = parseSetting(text); err != nil || section == "" {
				return nil, errConfig
			}
			s.Name = section + "." + s.Name
			out = append(out, s)
		}
	}
	return out, nil
}

func parseSection(text string) (section, rest string, err error) {
	i := 0
	for i < len(text) && (isKeyByte(text[i]) || text[i] == '.') {
		i++
	}
	section = strings.ToLower(text[:i])
	text = text[i:]
	if section == "" {
		return "", "", errConfig
	}
	if strings.HasPrefix(text, "]") {
		return section, text[1:], nil
	}
	text, quoted := strings.CutPrefix(strings.TrimLeft(text, " \t"), `"`)
	if !quoted {
		return "", "", errConfig
	}
	var sub strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return "", "", errConfig
		case c == '\\' && i+1 < len(text) && text[i+1] != '\n':
			i++
			sub.WriteByte(text[i])
		case c == '"':
			rest, ok := strings.CutPrefix(text[i+1:], "]")
			if !ok {
				return "", "", errConfig
			}
			return section + "." + sub.String(), rest, nil
		default:
			sub.WriteByte(c)
		}
	}
	return "", "", errConfig
}

func parseSetting(text string) (s Setting, rest string, err error) {
	i := 0
	for i < len(text) && isKeyByte(text[i]) {
		i++
	}
	if i == 0 {
		return s, "", errConfig
	}
	s.Name = strings.ToLower(text[:i])
	text = strings.TrimLeft(text[i:], " \t")
	if text == "" || text[0] == '\n' || text[0] == '#' || text[0] == ';' {
		_, rest, _ = strings.Cut(text, "\n")
		s.Value = "true"
		return s, rest, nil
	}
	if text[0] != '=' {
		return s, "", errConfig
	}
	s.Value, rest, err = parseValue(strings.TrimLeft(text[1:], " \t"))
	return s, rest, err
}

func parseValue(text string) (value, rest string, err error) {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n' && quoted:
			return "", "", errConfig
		case c == '\n':
			return strings.TrimRight(out.String(), " \t"), text[i+1:], nil
		case (c == '#' || c == ';') && !quoted:
			_, rest, _ = strings.Cut(text[i:], "\n")
			return strings.TrimRight(out.String(), " \t"), rest, nil
		case c == '"':
			quoted = !quoted
		case c == '\\':
			i++
			if i == len(text) {
				return "", "", errConfig
			}
			plain := strings.IndexByte("nt\"\\b\n", text[i])
			if plain < 0 {
				return "", "", errConfig
			}
			out.WriteString([]string{"\n", "\t", `"`, `\`, "\b", ""}[plain])
		default:
			out.WriteByte(c)
		}
	}
	if quoted {
		return "", "", errConfig
	}
	return strings.TrimRight(out.String(), " \t"), "", nil
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

// harmless are the settings that make git run nothing and read nothing outside
// the repository. A list of the harmful ones would be wrong with the next
// version of git. "*" stands for any subsection.
var harmless = map[string]bool{
	"core.repositoryformatversion": true, "core.filemode": true, "core.bare": true, "core.logallrefupdates": true,
	"core.ignorecase": true, "core.precomposeunicode": true, "core.symlinks": true, "core.autocrlf": true, "core.eol": true,
	"core.safecrlf": true, "core.compression": true, "core.abbrev": true, "core.quotepath": true, "core.sparsecheckout": true,
	"core.sparsecheckoutcone": true, "core.untrackedcache": true, "core.preloadindex": true, "core.whitespace": true,
	"core.commentchar": true, "core.protectntfs": true, "core.protecthfs": true, "core.splitindex": true, "core.commitgraph": true,
	"core.sharedrepository": true, "core.worktree": true, "core.checkstat": true, "core.trustctime": true, "core.longpaths": true,
	"extensions.objectformat": true, "extensions.refstorage": true, "extensions.worktreeconfig": true,
	"extensions.relativeworktrees": true, "extensions.compatobjectformat": true, "extensions.noop": true,
	"user.name": true, "user.email": true, "author.name": true, "author.email": true, "committer.name": true,
	"committer.email": true, "user.useconfigonly": true,
	"remote.*.url": true, "remote.*.fetch": true, "remote.*.push": true, "remote.*.mirror": true,
	"remote.*.tagopt": true, "remote.*.prune": true, "remote.*.prunetags": true, "remote.pushdefault": true,
	"branch.*.remote": true, "branch.*.pushremote": true, "branch.*.merge": true, "branch.*.rebase": true,
	"branch.*.description": true, "branch.autosetupmerge": true, "branch.autosetuprebase": true, "branch.sort": true,
	"submodule.*.url": true, "submodule.*.active": true, "submodule.*.branch": true, "submodule.*.update": true,
	"submodule.*.ignore": true, "submodule.*.fetchrecursesubmodules": true, "submodule.active": true, "submodule.recurse": true,
	"init.defaultbranch": true, "pull.rebase": true, "pull.ff": true, "push.default": true, "push.autosetupremote": true,
	"push.followtags": true, "merge.ff": true, "merge.conflictstyle": true, "rebase.autosquash": true, "rebase.autostash": true,
	"rebase.updaterefs": true, "fetch.prune": true, "fetch.prunetags": true, "rerere.enabled": true, "rerere.autoupdate": true,
	"diff.algorithm": true, "diff.renames": true, "diff.colormoved": true, "status.showuntrackedfiles": true, "gc.auto": true,
	"commit.gpgsign": true, "tag.sort": true, "advice.*": true, "color.ui": true, "log.date": true, "log.decorate": true,
	"receive.denycurrentbranch": true, "index.version": true, "index.skiphash": true, "feature.manyfiles": true,
}

// Harm gives the first setting of a configuration that is not known to be
// harmless, and that the host's own version has not, "" when there is none. The
// work tree of a submodule, whose git directory is at, has to lie below tree;
// with "" no work tree may be named.
func Harm(host, sandbox []byte, at, tree string) string {
	now, err := ParseConfig(sandbox)
	if err != nil {
		return "what cannot be read"
	}
	had, err := ParseConfig(host)
	if err != nil {
		had = nil
	}
	for _, s := range now {
		if slices.Contains(had, s) {
			continue
		}
		if !s.harmless(at, tree) || (strings.HasPrefix(s.Name, "remote.") && strings.HasSuffix(s.Name, ".url") && s.replaces(had)) {
			return s.Name
		}
	}
	return ""
}

// replaces reports whether the host has another value: what is pushed to a
// remote would go elsewhere.
func (s Setting) replaces(had []Setting) bool {
	return slices.ContainsFunc(had, func(h Setting) bool { return h.Name == s.Name })
}

func (s Setting) harmless(at, tree string) bool {
	first, rest, _ := strings.Cut(s.Name, ".")
	name := s.Name
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		name = first + ".*." + rest[i+1:]
	}
	if first == "advice" {
		name = "advice.*"
	}
	if !harmless[name] {
		return false
	}
	switch name {
	case "submodule.*.update":
		return slices.Contains([]string{"checkout", "rebase", "merge", "none"}, s.Value)
	case "core.worktree":
		return tree != "" && !path.IsAbs(s.Value) && strings.HasPrefix(path.Clean(at+"/"+s.Value), tree+"/")
	}
	// "ext::…" and the like name a program that speaks for the other side; a
	// dash would be read as an option.
	return !strings.Contains(s.Value, "::") && !strings.HasPrefix(s.Value, "-") && !strings.HasPrefix(s.Value, "!")
}
