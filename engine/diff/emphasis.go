package diff

import "unicode/utf8"

// emphasisBytes bounds the lines that are compared word by word.
const emphasisBytes = 4096

// emphasisFloor is the share of two lines that must be the same before it
// helps to point at the rest.
const emphasisFloor = 0.3

// Emphasis says which parts of a changed line changed, as byte offsets [from,
// to) into the old and into the new line. Both are nil when the lines are
// equal, have next to nothing in common, or are too long to be compared word
// by word; then the whole line is what changed.
func Emphasis(old, changed []byte) (oldSpans, newSpans [][2]int) {
	if len(old)+len(changed) > emphasisBytes {
		return nil, nil
	}
	oldWords, newWords := words(old), words(changed)
	matcher := newMatcher(oldWords, newWords)
	if matcher == nil {
		return nil, nil
	}
	same := 0
	blocks := matcher.GetMatchingBlocks()
	for _, b := range blocks {
		for _, w := range oldWords[b.A : b.A+b.Size] {
			same += len(w)
		}
	}
	if total := len(old) + len(changed); total == 0 || float64(2*same)/float64(total) < emphasisFloor {
		return nil, nil
	}
	oldAt, newAt := offsets(oldWords), offsets(newWords)
	a, b := 0, 0
	for _, m := range blocks {
		oldSpans = appendSpan(oldSpans, oldAt[a], oldAt[m.A])
		newSpans = appendSpan(newSpans, newAt[b], newAt[m.B])
		a, b = m.A+m.Size, m.B+m.Size
	}
	return oldSpans, newSpans
}

func appendSpan(spans [][2]int, from, to int) [][2]int {
	if from == to {
		return spans
	}
	return append(spans, [2]int{from, to})
}

// words cuts a line into names and numbers, runs of blanks, and single other
// characters. Characters beyond ASCII and bytes that are no UTF-8 count as
// parts of names, so no character is ever cut.
func words(line []byte) []string {
	var out []string
	for at := 0; at < len(line); {
		end := at + 1
		if k := classOf(line[at]); k != other {
			for end < len(line) && classOf(line[end]) == k {
				end++
			}
		}
		out = append(out, string(line[at:end]))
		at = end
	}
	return out
}

type class int

const (
	other class = iota
	blank
	name
)

func classOf(c byte) class {
	switch {
	case c == ' ', c == '\t':
		return blank
	case c >= utf8.RuneSelf, c == '_', c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return name
	}
	return other
}

func offsets(words []string) []int {
	at := make([]int, len(words)+1)
	for i, w := range words {
		at[i+1] = at[i] + len(w)
	}
	return at
}
