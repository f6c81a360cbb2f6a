package diff

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"sandbox/engine/entry"
)

// cases are pairs of n lines: typical, and those that differs are slow at.
func benchPairs(n int) map[string][2]Side {
	rng := rand.New(rand.NewPCG(9, 10))
	var base, few, many, rewritten, random strings.Builder
	for i := range n {
		line := fmt.Sprintf("\tresult = append(result, item%d) // %d\n", i*7919%n, i%13)
		if i%9 == 0 {
			line = "}\n"
		}
		base.WriteString(line)
		if i%(n/10) == n/20 {
			few.WriteString("changed\n")
		} else {
			few.WriteString(line)
		}
		if rng.IntN(10) == 0 {
			fmt.Fprintf(&many, "changed %d\n", i)
		} else {
			many.WriteString(line)
		}
		if i%9 == 0 {
			rewritten.WriteString(line)
		} else {
			fmt.Fprintf(&rewritten, "\tother(%d)\n", i)
		}
		fmt.Fprintf(&random, "%d\n", rng.IntN(4))
	}
	alternating := strings.Repeat("a\nb\n", n/2)
	shuffled := []byte(random.String())
	rng.Shuffle(n, func(i, j int) { shuffled[2*i], shuffled[2*j] = shuffled[2*j], shuffled[2*i] })
	b := base.String()
	return map[string][2]Side{
		"few":         {file(b), file(few.String())},
		"many":        {file(b), file(many.String())},
		"rewritten":   {file(b), file(rewritten.String())},
		"moved":       {file(b), file(b[len(b)/2:] + b[:len(b)/2])},
		"alternating": {file(alternating), file("b\n" + alternating[:n] + "x\n" + alternating[n:])},
		"four-lines":  {file(random.String()), file(string(shuffled))},
		"crlf":        {file(strings.ReplaceAll(b, "\n", "\r\n")), file(few.String())},
		"created":     {Side{Type: entry.None}, file(b)},
	}
}

var benchSizes = []int{10_000, 100_000}

func benchEach(b *testing.B, run func(host, sandbox Side)) {
	for _, n := range benchSizes {
		for name, pair := range benchPairs(n) {
			b.Run(fmt.Sprintf("%dk/%s", n/1000, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run(pair[0], pair[1])
				}
			})
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	benchEach(b, func(host, sandbox Side) { Compare("/p", host, sandbox) })
}

func BenchmarkCount(b *testing.B) {
	benchEach(b, func(host, sandbox Side) { Count(host, sandbox) })
}

func BenchmarkUnified(b *testing.B) {
	benchEach(b, func(host, sandbox Side) {
		if err := Unified(io.Discard, "f", "f", host, sandbox, 3); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkSimilarity(b *testing.B) {
	benchEach(b, func(host, sandbox Side) { Similarity(host.Data, sandbox.Data) })
}

func BenchmarkApply(b *testing.B) {
	for name, pair := range benchPairs(100_000) {
		hunks := Compare("/p", pair[0], pair[1])
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Apply(pair[0], pair[1], hunks, All); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
