package pattern

import (
	"slices"
	"strings"
	"testing"

	"sandbox/engine/fault"
)

// facts knows a few paths and some symlinks: /link leads to /real, /p/out
// to /secret and /p/inner to /p/real.
func facts(existing ...string) Facts {
	return Facts{
		Exists: func(abs string) bool {
			return slices.ContainsFunc(existing, func(e string) bool { return Below(e, abs) })
		},
		Resolve: func(dir string) string {
			if rest, ok := strings.CutPrefix(dir, "/p/out"); ok && (rest == "" || rest[0] == '/') {
				return "/secret" + rest
			}
			if rest, ok := strings.CutPrefix(dir, "/p/inner"); ok && (rest == "" || rest[0] == '/') {
				return "/p/real" + rest
			}
			if rest, ok := strings.CutPrefix(dir, "/link"); ok && (rest == "" || rest[0] == '/') {
				return "/real" + rest
			}
			return dir
		},
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		name, dir, pattern string
		existing           []string
		yes, no            []string
	}{
		{name: "a file", dir: "/p", pattern: "a.txt", yes: []string{"/p/a.txt"}, no: []string{"/p/a.txt2", "/p/b/a.txt", "/a.txt"}},
		{name: "a directory means all below", dir: "/p", pattern: "src", yes: []string{"/p/src", "/p/src/a", "/p/src/b/c"}, no: []string{"/p/srcs/a", "/p"}},
		{name: "a slash at the end", dir: "/p", pattern: "src/", yes: []string{"/p/src/a"}, no: []string{"/p/srcs"}},
		{name: "here", dir: "/p", pattern: ".", yes: []string{"/p", "/p/a", "/p/b/c"}, no: []string{"/q", "/pp"}},
		{name: "here with a slash", dir: "/p", pattern: "./", yes: []string{"/p/a"}, no: []string{"/q"}},
		{name: "everywhere", dir: "/p", pattern: "/", yes: []string{"/", "/p/a", "/etc/x"}},
		{name: "the root directory as working directory", dir: "/", pattern: "etc", yes: []string{"/etc", "/etc/x"}, no: []string{"/p"}},
		{name: "up", dir: "/p/q", pattern: "../a", yes: []string{"/p/a"}, no: []string{"/p/q/a"}},
		{name: "up, then a pattern", dir: "/p/q", pattern: "../sib/*", yes: []string{"/p/sib/x", "/p/sib/x/y"}, no: []string{"/p/q/x", "/p/sib"}},
		{name: "up beyond the root", dir: "/p", pattern: "../../etc", yes: []string{"/etc/x"}},
		{name: "absolute", dir: "/p", pattern: "/etc/*.conf", yes: []string{"/etc/a.conf"}, no: []string{"/etc/d/a.conf", "/p/etc/a.conf"}},
		{name: "star stays in a directory", dir: "/p", pattern: "*.go", yes: []string{"/p/a.go"}, no: []string{"/p/d/a.go", "/p/a.goo"}},
		{name: "star takes dotfiles", dir: "/p", pattern: "*", yes: []string{"/p/.git/config", "/p/a"}, no: []string{"/p"}},
		{name: "a directory that matches a pattern means all below", dir: "/p", pattern: "s?c", yes: []string{"/p/src/a/b"}, no: []string{"/p/x/src/a"}},
		{name: "two stars", dir: "/p", pattern: "**/*.go", yes: []string{"/p/a.go", "/p/x/y/a.go"}, no: []string{"/q/a.go"}},
		{name: "two stars in the middle", dir: "/p", pattern: "a/**/b", yes: []string{"/p/a/b", "/p/a/x/b", "/p/a/x/y/b/z"}, no: []string{"/p/b"}},
		{name: "braces", dir: "/p", pattern: "{a,b}.c", yes: []string{"/p/a.c", "/p/b.c"}, no: []string{"/p/c.c"}},
		{name: "class", dir: "/p", pattern: "[ab].c", yes: []string{"/p/a.c"}, no: []string{"/p/[ab].c"}},
		{name: "a name that exists is literal before it is a pattern", dir: "/p", pattern: "[ab].c", existing: []string{"/p/[ab].c"}, yes: []string{"/p/[ab].c"}, no: []string{"/p/a.c"}},
		{name: "a directory above a change exists", dir: "/p", pattern: "*x", existing: []string{"/p/*x/file"}, yes: []string{"/p/*x/file"}, no: []string{"/p/ax/file"}},
		{name: "escaped", dir: "/p", pattern: `\[ab\].c`, yes: []string{"/p/[ab].c"}, no: []string{"/p/a.c"}},
		{name: "special characters in the working directory", dir: "/p[1]*", pattern: "*.c", yes: []string{"/p[1]*/a.c"}, no: []string{"/p1/a.c"}},
		{name: "a symlink in the directory part", dir: "/", pattern: "link/a", yes: []string{"/real/a", "/link/a"}, no: []string{"/a"}},
		{name: "a symlink in the working directory", dir: "/link/d", pattern: "*.c", yes: []string{"/real/d/a.c", "/link/d/a.c"}},
		{name: "the symlink itself", dir: "/", pattern: "link", yes: []string{"/link"}, no: []string{"/real", "/real/a"}},
		{name: "where the symlink leads", dir: "/", pattern: "link/", yes: []string{"/real", "/real/a"}},
		{name: "a symlink out of the working directory", dir: "/p", pattern: "out/a", yes: []string{"/p/out/a"}, no: []string{"/secret/a"}},
		{name: "that symlink in an absolute pattern", dir: "/p", pattern: "/p/out/*", yes: []string{"/p/out/a"}, no: []string{"/secret/a"}},
		{name: "that symlink with a slash", dir: "/p", pattern: "out/", yes: []string{"/p/out"}, no: []string{"/secret", "/secret/a"}},
		{name: "a symlink that stays below the working directory", dir: "/p", pattern: "inner/a", yes: []string{"/p/inner/a", "/p/real/a"}},
		{name: "names that are not UTF-8", dir: "/p", pattern: "\xff*", yes: []string{"/p/\xff\xfe"}, no: []string{"/p/a"}},
		{name: "a newline in the name", dir: "/p", pattern: "a\nb", yes: []string{"/p/a\nb"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Compile(tt.dir, tt.pattern, facts(tt.existing...))
			if err != nil {
				t.Fatal(err)
			}
			for _, abs := range tt.yes {
				if !p.Match(abs) {
					t.Errorf("does not match %q", abs)
				}
			}
			for _, abs := range tt.no {
				if p.Match(abs) {
					t.Errorf("matches %q", abs)
				}
			}
		})
	}
}

func TestNamesIsOnlyTheExactPath(t *testing.T) {
	tests := []struct {
		dir, pattern, abs string
		want              bool
	}{
		{"/h", ".bashrc", "/h/.bashrc", true},
		{"/h", "/h/.bashrc", "/h/.bashrc", true},
		{"/h/p", "../.bashrc", "/h/.bashrc", true},
		{"/link", ".bashrc", "/real/.bashrc", true},
		{"/h", ".", "/h/.bashrc", false},
		{"/h", ".bash*", "/h/.bashrc", false},
		{"/", "h", "/h/.bashrc", false},
		{"/h", ".git/hooks", "/h/.git/hooks/pre-commit", false},
	}
	for _, tt := range tests {
		p, err := Compile(tt.dir, tt.pattern, facts())
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Names(tt.abs); got != tt.want {
			t.Errorf("%q in %s names %s: %v", tt.pattern, tt.dir, tt.abs, got)
		}
	}
}

func TestBadPatterns(t *testing.T) {
	for _, text := range []string{"", "[a", "a/{b", "a\x00b", `a\`} {
		if _, err := Compile("/p", text, facts()); fault.CodeOf(err) != fault.Usage {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("/p", "*.go", "/p/a.go")
	f.Add("/", "../**/{a,b}", "/x/a")
	f.Add("/p", `\[`, "/p/[")
	f.Fuzz(func(t *testing.T, dir, text, abs string) {
		if !strings.HasPrefix(dir, "/") || !strings.HasPrefix(abs, "/") {
			return
		}
		p, err := Compile(dir, text, facts())
		if err != nil {
			return
		}
		if p.Names(abs) && !p.Match(abs) {
			t.Errorf("%q names but does not match %q", text, abs)
		}
	})
}
