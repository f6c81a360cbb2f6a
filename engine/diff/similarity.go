package diff

import "bytes"

// Similarity says how much of two contents is the same: 1 for equal ones and
// only for those, 0 for contents without a common line. It is twice the bytes
// of the lines that both have in the same order, divided by the bytes of both,
// apart from line ends, and works on any bytes. Contents beyond MaxTextBytes
// or MaxTextLines are either equal or not similar at all.
func Similarity(a, b []byte) float64 {
	if bytes.Equal(a, b) {
		return 1
	}
	if tooMuch(a) || tooMuch(b) {
		return 0
	}
	left, right, _ := decompose(a, b)
	total := len(left.norm) + len(right.norm)
	if total == 0 {
		return 0
	}
	const nearly = 0.9999
	return min(nearly, float64(2*sameBytes(left.norm, right.norm))/float64(total))
}

// similarLines is fineLines for Similarity, which is asked about many pairs.
const similarLines = 25_000

func tooMuch(data []byte) bool {
	return len(data) > MaxTextBytes || bytes.Count(data, []byte{'\n'}) > MaxTextLines
}

// sameBytes counts the bytes of the lines that a and b have in the same order.
func sameBytes(a, b []byte) int {
	aIdx, bIdx := indexLines(a), indexLines(b)
	// Common first and last lines are most of a typical pair and need no matcher.
	mid := onlyTheMiddle(a, b, aIdx, bIdx)
	aMid, bMid := aIdx.cut(a, mid.h0, mid.h1), bIdx.cut(b, mid.s0, mid.s1)
	same := len(a) - len(aMid)
	if len(aMid) == 0 || len(bMid) == 0 {
		return same
	}
	if n, m := mid.h1-mid.h0, mid.s1-mid.s0; n*m <= matcherCells {
		if matcher := newMatcher(lineStrings(aMid), lineStrings(bMid)); matcher != nil {
			for _, block := range matcher.GetMatchingBlocks() {
				from := mid.h0 + block.A
				same += len(aIdx.cut(a, from, from+block.Size))
			}
			return same
		}
	}
	// Beyond the budget: what the line differ leaves.
	aIdx = indexLines(aMid)
	same += len(aMid)
	for _, gone := range compareLines(aMid, bMid, aIdx, indexLines(bMid), similarLines) {
		same -= len(aIdx.cut(aMid, gone.h0, gone.h1))
	}
	return same
}

func lineStrings(norm []byte) []string {
	var lines []string
	for line := range bytes.Lines(norm) {
		lines = append(lines, string(line))
	}
	return lines
}
