package changes_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sandbox/engine/changes"
	"sandbox/internal/overlaytest"
)

// BenchmarkScan walks an upper of 20,000 new files in 400 directories, and one
// of 20,000 copies that equal the host.
func BenchmarkScan(b *testing.B) {
	make20k := func(b *testing.B, dir string) {
		for d := range 400 {
			sub := fmt.Sprintf("%s/pkg-%d", dir, d)
			must(b, os.MkdirAll(sub, 0o755))
			for f := range 50 {
				must(b, os.WriteFile(fmt.Sprintf("%s/f%d", sub, f), []byte(fmt.Sprintf("file %d of %d\n", f, d)), 0o644))
			}
		}
	}
	bench := func(r *overlaytest.Rig, want int) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if set := scan(b, r.Tree()); len(set.Changes) != want {
					b.Fatalf("%d rows", len(set.Changes))
				}
			}
		}
	}
	added := overlaytest.New(b, nil)
	make20k(b, added.U(""))
	b.Run("added", bench(added, 20_400))
	b.Run("added, one row", func(b *testing.B) {
		must(b, os.WriteFile(added.H("x"), []byte("1"), 0o644))
		must(b, os.WriteFile(added.U("x"), []byte("2"), 0o644))
		for b.Loop() {
			_, err := changes.One(context.Background(), added.Tree(), added.H("x"), changes.Options{})
			must(b, err)
		}
	})

	equal := overlaytest.New(b, func(host string) { make20k(b, host) })
	make20k(b, equal.U(""))
	b.Run("equal", bench(equal, 0))

	moved := overlaytest.New(b, func(host string) { make20k(b, host) })
	make20k(b, moved.U("new"))
	moved.Sh(b, `rm -r pkg-*`)
	b.Run("moved", bench(moved, 400+400+1+20_000))
}
