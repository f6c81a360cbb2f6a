package apply_test

import (
	"context"
	"testing"

	"sandbox/engine/apply"
	"sandbox/engine/view"
	"sandbox/internal/overlaytest"
)

func BenchmarkThousandFiles(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		o := overlaytest.New(b, nil)
		r := &rig{Rig: o}
		r.ShHost(b, "for d in 1 2 3 4 5 6 7 8 9 10; do mkdir d$d; for i in $(seq 100); do echo $i > d$d/$i; done; done")
		r.attach()
		r.env = apply.Env{
			Tree: o.Tree(), Journal: o.Storage + "/journal", Running: true,
			View: func() (view.View, error) { return r.view, nil },
		}
		r.Sh(b, "for d in 1 2 3 4 5 6 7 8 9 10; do sed -i s/^/x/ d$d/*; done")
		sel := r.scan(b)
		b.StartTimer()
		if _, err := apply.Accept(context.Background(), r.env, sel, apply.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
