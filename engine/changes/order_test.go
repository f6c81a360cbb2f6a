package changes

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Rows come in bytewise order of their paths whatever order the directories were
// walked in, with names that sort around the slash, directories without a row,
// and a directory that was walked twice.
func TestRowsComeInOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "a-", "a.txt", "a/", "b", "a\x01", "ab", "a0", "\xff", " "}
	for range 300 {
		s := &scan{}
		seen := map[string]bool{}
		var want []string
		for range rnd.IntN(40) {
			dir := "/"
			for range rnd.IntN(4) {
				dir = join(dir, strings.TrimSuffix(names[rnd.IntN(len(names))], "/"))
			}
			var rows []Change
			for range rnd.IntN(5) {
				p := join(dir, strings.TrimSuffix(names[rnd.IntN(len(names))], "/"))
				if !seen[p] {
					seen[p] = true
					want = append(want, p)
					rows = append(rows, Change{Path: p})
				}
			}
			s.add(dir, rows)
		}
		slices.Sort(want)
		got := []string{}
		for _, c := range s.inOrder() {
			got = append(got, c.Path)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
}
