package diff

import "github.com/pmezard/go-difflib/difflib"

// The budget of one run of go-difflib. Its time is quadratic at best and cubic
// at worst, and its own remedy ("autojunk") is wrong for text that repeats
// itself: it drops every line that a file has in more than one of a hundred
// lines. So it always runs without it, and not at all beyond the budget.
const (
	matcherCells = 1_000_000  // product of the two lengths
	matcherSteps = 30_000_000 // equal pairs times the possible number of matches
)

// newMatcher returns a matcher without autojunk, nil beyond the budget.
func newMatcher(a, b []string) *difflib.SequenceMatcher {
	if len(a)*len(b) > matcherCells {
		return nil
	}
	count := make(map[string]int, len(a))
	for _, s := range a {
		count[s]++
	}
	pairs := 0
	for _, s := range b {
		pairs += count[s]
	}
	if pairs*min(len(a), len(b)) > matcherSteps {
		return nil
	}
	return difflib.NewMatcherWithJunk(a, b, false, nil)
}
