package doccheck

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// rows are the cases that doc/cases.md must tell about: letter and numbers.
var rows = map[string][]int{
	"O": {1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 30, 31, 32, 34, 35, 36},
	"M": {1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 22},
	"F": {1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18, 19, 20, 21, 22},
	"D": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28},
}

// Every case has a test that exists, or a heading of doc/limits.md that does.
func TestEveryCaseHasATestOrALimit(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "doc/cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	goTests, scripts := tests(t)
	anchors := headings(t, "doc/limits.md")
	row := regexp.MustCompile(`^\| ([A-Z]\d+) \| (.+) \| (.+) \|$`)
	goTest := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)`")
	script := regexp.MustCompile("`([a-z_]+)\\.txtar`")
	limit := regexp.MustCompile(`\]\(limits\.md#([^)]+)\)`)
	told := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		id, answer := m[1], m[3]
		if told[id] {
			t.Errorf("%s stands there twice", id)
		}
		told[id] = true
		answers := 0
		check := func(what string, found [][]string, there map[string]bool) {
			for _, f := range found {
				answers++
				if !there[f[1]] {
					t.Errorf("%s names the %s %s, which does not exist", id, what, f[1])
				}
			}
		}
		check("test", goTest.FindAllStringSubmatch(answer, -1), goTests)
		check("script", script.FindAllStringSubmatch(answer, -1), scripts)
		check("limit", limit.FindAllStringSubmatch(answer, -1), anchors)
		if answers == 0 {
			t.Errorf("%s has neither a test nor a limit: %s", id, answer)
		}
	}
	for letter, numbers := range rows {
		for _, n := range numbers {
			if id := fmt.Sprint(letter, n); !told[id] {
				t.Errorf("%s is missing", id)
			}
		}
	}
}

// tests gives the names of all test functions and scripts of the project.
func tests(t *testing.T) (functions, scripts map[string]bool) {
	t.Helper()
	functions, scripts = map[string]bool{}, map[string]bool{}
	name := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			scripts[strings.TrimSuffix(d.Name(), ".txtar")] = true
		case strings.HasSuffix(path, "_test.go"):
			code, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range name.FindAllStringSubmatch(string(code), -1) {
				functions[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return functions, scripts
}

// headings gives the anchors of a document's headings.
func headings(t *testing.T, doc string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, doc))
	if err != nil {
		t.Fatal(err)
	}
	drop := regexp.MustCompile(`[^a-z0-9 -]`)
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			out[strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(h)), ""), " ", "-")] = true
		}
	}
	return out
}
