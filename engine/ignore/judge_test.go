package ignore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sandbox/engine/ignore"
)

// memory is a tree of rule files: "/p/.gitignore" → content; "/p/.git" → "".
type memory map[string]string

func (m memory) Load(dir string) ignore.Dir {
	dir = strings.TrimSuffix(dir, "/")
	file := func(name string) ignore.File {
		data, ok := m[dir+"/"+name]
		if !ok {
			return ignore.File{}
		}
		return ignore.File{Path: dir + "/" + name, Data: []byte(data)}
	}
	_, repo := m[dir+"/.git"]
	return ignore.Dir{Repository: repo, Git: file(".gitignore"), Tool: file(".ignore"), Exclude: file(".git/info/exclude")}
}

func TestOf(t *testing.T) {
	tree := memory{
		"/home/ann/.gitignore":     "*.up\n",
		"/home/ann/p/.git":         "",
		"/home/ann/p/.gitignore":   "*.log\nbuild/\n/only\n!keep.log\nvendor\n",
		"/home/ann/p/.ignore":      "*.tmp\n!debug.log\n",
		"/home/ann/p/s/.gitignore": "!*.log\n",
		// below an ignored directory nothing counts
		"/home/ann/p/build/.gitignore":         "!*\n",
		"/home/ann/p/vendor/inner/.git":        "",
		"/home/ann/p/sub/.git":                 "",
		"/home/ann/p/sub/.git/info/exclude":    "*.mine\n",
		"/home/ann/free/.gitignore":            "*.x\n",
		"/home/ann/many/.gitignore":            strings.Repeat("*.x\n", 10_001),
		"/home/ann/large/.gitignore":           "*.x\n" + strings.Repeat("#", 1<<20),
		"/home/ann/long/.gitignore":            strings.Repeat("x", 5000) + "\n*.y\n",
		"/home/ann/many/below/.gitignore":      "*.y\n",
		"/home/ann/p/.git/info/.gitignore":     "*\n",
		"/home/ann/p/node_modules/.gitignore":  "",
		"/home/ann/q/.git":                     "",
		"/home/ann/q/.gitignore":               "!.DS_Store\n!__pycache__/\n",
		"/home/ann/r/.gitignore":               "*\n",
		"/home/ann/projects/one/d/.gitignore":  "/a\n",
		"/home/ann/projects/one/d/e/.ignore":   "a\n",
		"/home/ann/projects/one/dd/.gitignore": "*\n",
	}
	global := ignore.File{Path: "/home/ann/.config/git/ignore", Data: []byte("*.global\n")}
	j := ignore.New(tree, ignore.Options{Home: "/home/ann", Noise: true, Global: global})
	for _, c := range []struct {
		path string // a slash at the end: a directory
		want string // kind, and the top when it is above
	}{
		{"/home/ann/p/a.log", ".gitignore"},
		{"/home/ann/p/keep.log", ""},
		{"/home/ann/p/debug.log", ""},
		{"/home/ann/p/a.tmp", ".ignore"},
		{"/home/ann/p/s/a.log", ""},
		{"/home/ann/p/build", ""},
		{"/home/ann/p/build/", ".gitignore"},
		{"/home/ann/p/build/a/b", ".gitignore /home/ann/p/build"},
		{"/home/ann/p/x/build/a", ".gitignore /home/ann/p/x/build"},
		{"/home/ann/p/only", ".gitignore"},
		{"/home/ann/p/x/only", ""},
		{"/home/ann/p/a.up", ""}, // above the repository
		{"/home/ann/p/a.global", "your git ignore file"},
		{"/home/ann/p/vendor/inner/f", ".gitignore /home/ann/p/vendor"},
		{"/home/ann/p/sub/a.log", ""}, // a repository of its own
		{"/home/ann/p/sub/a.mine", ".git/info/exclude"},
		{"/home/ann/p/sub/a.tmp", ".ignore"}, // no matter of git
		{"/home/ann/p/.git/", ""},
		{"/home/ann/p/.git/a.log", ""},
		{"/home/ann/p/.git/info/a.log", ""},
		{"/home/ann/r/.git/", ""},
		{"/home/ann/r/.git/config", ""},
		{"/home/ann/free/a.x", ".gitignore"}, // no repository, but somebody wrote it
		{"/home/ann/free/a.up", ".gitignore"},
		{"/home/ann/free/a.global", ""},
		{"/home/ann/many/a.x", ""},
		{"/home/ann/many/below/a.y", ".gitignore"},
		{"/home/ann/large/a.x", ""},
		{"/home/ann/long/a.y", ".gitignore"},
		{"/home/ann/projects/one/d/a", ".gitignore"},
		{"/home/ann/projects/one/d/e/a", ".ignore"},
		{"/home/ann/projects/one/d/f/a", ""},
		{"/home/ann/projects/one/ddd/a", ""},

		{"/home/ann/.cache/x/y", "built-in noise /home/ann/.cache"},
		{"/home/ann/p/.cache/x", ""},
		{"/home/bob/.cache/x", ""},
		{"/home/ann/p/pkg/__pycache__/m.pyc", "built-in noise /home/ann/p/pkg/__pycache__"},
		{"/home/ann/p/__pycache__", ""}, // a file
		{"/home/ann/p/node_modules/.cache/x", "built-in noise /home/ann/p/node_modules/.cache"},
		{"/home/ann/p/node_modules/left-pad/index.js", ""},
		{"/home/ann/p/.DS_Store", "built-in noise"},
		{"/home/ann/q/.DS_Store", ""},
		{"/home/ann/q/__pycache__/", ""},
		{"/home/ann/p/.main.go.swp", "built-in noise"},
		{"/home/ann/p/main.swp", ""},
		{"/home/ann/p/main.go~", "built-in noise"},
		{"/home/ann/.bash_history", "built-in noise"},
		{"/home/ann/p/.bash_history", ""},
		{"/home/ann/.cargo/registry/cache/x", "built-in noise /home/ann/.cargo/registry"},
		{"/home/ann/.cargo/bin/x", ""},
		{"/var/cache/apt/x", "built-in noise /var/cache"},
		{"/srv/var/cache/apt/x", ""},
		{"/", ""},
		{"/x", ""},
		{"/p\n\xff/a~", "built-in noise"},
	} {
		path, isDir := c.path, false
		if len(path) > 1 {
			path, isDir = strings.CutSuffix(path, "/")
		}
		got := ""
		if r := j.Of(path, isDir); r != nil {
			if got = string(r.Kind); r.Top != path {
				got += " " + r.Top
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.path, got, c.want)
		}
	}
}

// Rules that make a matcher try and retry, and very many of them, end soon.
func TestCostlyRulesAreBounded(t *testing.T) {
	deep := "/p/" + strings.Repeat("a/", 200) + strings.Repeat("a", 250)
	tree := memory{"/p/.gitignore": strings.Repeat("**/a/", 200) + "b\n" + strings.Repeat("*a", 1000) + "b\n" + strings.Repeat(strings.Repeat("*a", 100)+"b\n", 2000)}
	start := time.Now()
	j := ignore.New(tree, ignore.Options{})
	for i := range 3_000 {
		if r := j.Of(fmt.Sprint(deep, i), false); r != nil {
			t.Fatal(r)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	} else {
		t.Log(took)
	}
}

// What a directory's name decides is not asked again for each file in it.
func BenchmarkOf(b *testing.B) {
	tree := memory{"/p/.git": "", "/p/.gitignore": "node_modules/\n*.log\n*.o\n/dist\n/target\n.env*\n!.env.example\ncoverage\n*.py[co]\n**/gen/*.go\n"}
	for name, format := range map[string]string{"ignored": "/p/node_modules/x%d/lib/f%d.js", "shown": "/p/src/x%d/f%d.js"} {
		b.Run(name, func(b *testing.B) {
			paths := make([]string, 100_000)
			for i := range paths {
				paths[i] = fmt.Sprintf(format, i/10, i)
			}
			for b.Loop() {
				j := ignore.New(tree, ignore.Options{Home: "/home/ann", Noise: true})
				for _, p := range paths {
					j.Of(p, false)
				}
			}
		})
	}
}

func FuzzOf(f *testing.F) {
	f.Add("*.o\n!a/**/b\n[a-z]x\n", "a/b/c.o")
	f.Add("\\", "\\")
	f.Add("[", "[")
	f.Add("**/**/x/**\n", "x/y")
	f.Fuzz(func(_ *testing.T, rules, path string) {
		j := ignore.New(memory{"/p/.gitignore": rules}, ignore.Options{Home: "/p", Noise: true})
		j.Of("/p/"+path, false)
		j.Of("/p/"+path, true)
	})
}
