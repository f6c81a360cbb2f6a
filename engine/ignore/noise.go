package ignore

import (
	"strings"
	"sync"
)

// noiseRules is what everyday programs leave behind. A place is written like
// a rule of a .gitignore that stands at / ("name" is anywhere), or "~/…" for one
// in a home directory; a slash at the end means a directory and all in it.
//
// What is listed here is left out of a blanket accept too, so it must be of no
// use to anybody who gets it: it can be made again, or belongs to one run. What
// runs code later is no noise to package sensitive, and is shown all the same.
var noiseRules = []struct {
	what   string
	places []string
}{
	{"a cache", []string{
		"~/.cache/", "~/.npm/_cacache/", "~/.npm/_logs/", "~/.npm/_npx/", "~/.npm/_update-notifier-last-checked",
		"~/.yarn/berry/cache/", "~/.pnpm-store/", "~/.local/share/pnpm/store/", "~/.bun/install/cache/", "~/.node-gyp/", "~/.electron-gyp/",
		"~/.cargo/registry/", "~/.cargo/git/", "~/.cargo/.package-cache", "~/.cargo/.package-cache-mutate", "~/.cargo/.global-cache",
		"~/.rustup/tmp/", "~/.rustup/downloads/", "~/go/pkg/mod/", "~/go/pkg/sumdb/", "~/.gradle/caches/", "~/.gradle/daemon/",
		"~/.gradle/native/", "~/.m2/repository/", "~/.ivy2/cache/", "~/.nuget/packages/", "~/.pub-cache/", "~/.gem/specs/",
		"~/.bundle/cache/", "~/.composer/cache/", "~/.hex/cache.ets", "~/.stack/pantry/", "~/.cabal/packages/", "~/.opam/download-cache/",
		"~/.conda/pkgs/", "~/.ccache/", "~/.thumbnails/", "~/.nv/ComputeCache/",
		"node_modules/.cache/", "node_modules/.vite/", "__pycache__/", "*.pyc", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/",
		".hypothesis/unicode_data/", ".ipynb_checkpoints/", ".sass-cache/", ".parcel-cache/", ".eslintcache", ".stylelintcache",
		"/var/cache/", "/var/lib/apt/lists/",
	}},
	{"a file manager's note", []string{".DS_Store", "Thumbs.db", "ehthumbs.db", "desktop.ini", ".directory", ".Trash-*/", "~/.local/share/Trash/"}},
	{"an editor's working file", []string{
		".*.sw[a-p]", "*~", ".#*", "#*#", ".netrwhist", "~/.local/state/nvim/", "~/.viminfo", "~/.viminf[a-z].tmp", "~/.vim/.netrwhist",
		"~/.emacs.d/auto-save-list/", "~/.config/Code/logs/", "~/.config/Code/Cache/", "~/.config/Code/CachedData/",
	}},
	{"a history of what was typed", []string{
		"~/.bash_history", "~/.bash_history-*.tmp", "~/.zsh_history", "~/.zsh_history.LOCK", "~/.zsh_history.new", "~/.zhistory", "~/.ksh_history",
		"~/.sh_history", "~/.histfile", "~/.ash_history", "~/.python_history", "~/.node_repl_history", "~/.lesshst", "~/.lesshsQ", "~/.wget-hsts",
		"~/.sqlite_history", "~/.psql_history", "~/.mysql_history", "~/.rediscli_history", "~/.irb_history", "~/.local/state/bash/history",
		"~/.local/state/zsh/history", "~/.local/state/python/history", "~/.local/share/recently-used.xbel",
	}},
	{"a log", []string{"/var/log/", "~/.xsession-errors", "~/.local/state/wireplumber/"}},
	{"a leftover of a network file system", []string{".nfs[0-9a-f]*", ".fuse_hidden*"}},
}

// noise is the part of noiseRules that needs no home directory, made ready, or
// the part that does. Names and paths without special characters are looked up.
type noise struct {
	names map[string][]noiseRule // by last component, wherever it is
	paths map[string][]noiseRule // by path below the base
	globs []noiseRule
}

type noiseRule struct {
	rule
	what string
}

var builtIn = sync.OnceValues(func() (everywhere, home noise) {
	for _, g := range noiseRules {
		for _, place := range g.places {
			if rest, ok := strings.CutPrefix(place, "~"); ok {
				home.add(rest, g.what)
			} else {
				everywhere.add(place, g.what)
			}
		}
	}
	return everywhere, home
})

func (n *noise) add(place, what string) {
	text := place
	if strings.Contains(strings.TrimSuffix(place, "/"), "/") && place[0] != '/' {
		text = "**/" + place
	}
	r, _ := parseRule(text)
	nr := noiseRule{r, what}
	switch {
	case r.plain && r.inPath:
		put(&n.paths, r.text, nr)
	case r.plain:
		put(&n.names, r.text, nr)
	default:
		n.globs = append(n.globs, nr)
	}
}

func put(m *map[string][]noiseRule, key string, r noiseRule) {
	if *m == nil {
		*m = map[string][]noiseRule{}
	}
	(*m)[key] = append((*m)[key], r)
}

// of gives the noise rule about a path below the base.
func (n *noise) of(rel, base string, isDir bool) *noiseRule {
	work := 0
	for _, rules := range [][]noiseRule{n.names[base], n.paths[rel], n.globs} {
		for i := range rules {
			if rules[i].match(rel, base, isDir, &work) {
				return &rules[i]
			}
		}
	}
	return nil
}

// noiseOf is the reason that built-in rules give.
func (j *Judge) noiseOf(path string, isDir bool) *Reason {
	if !j.noise {
		return nil
	}
	base := path[strings.LastIndexByte(path, '/')+1:]
	everywhere, home := builtIn()
	r := everywhere.of(path[1:], base, isDir)
	if r == nil && j.home != "" {
		if rel, ok := strings.CutPrefix(path, j.home+"/"); ok {
			r = home.of(rel, base, isDir)
		}
	}
	if r == nil {
		return nil
	}
	return &Reason{Kind: Noise, Top: path, Text: r.what}
}
