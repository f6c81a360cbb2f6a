package changes

import (
	"testing"
	"time"
)

func TestMarks(t *testing.T) {
	now := time.Now().UnixNano()
	sec := int64(time.Second)
	at := func(from, to int64) window { return window{from, to} }
	var m marks
	for i := range int64(100) {
		start := now - 1000*sec + i*5*sec
		m = m.with(at(start, start+sec/4))
		m = m.with(at(start+sec/4+clockStep, start+sec/2)) // touches
	}
	if len(m) != maxWindows {
		t.Fatalf("%d windows", len(m))
	}
	newest := now - 1000*sec + 99*5*sec
	if m.last() != newest+sec/2 {
		t.Errorf("last is %d, want %d", m.last(), newest+sec/2)
	}
	again := parseMarks([]byte(m.String()))
	if again.String() != m.String() || len(m.String()) > 2048 {
		t.Errorf("%q\n%q", m.String(), again.String())
	}
	for ns, want := range map[int64]bool{newest: true, newest + sec/4: true, newest + sec: false, newest - sec: false, now - 1000*sec: false} {
		if m.covers(ns, 0) != want {
			t.Errorf("covers(newest%+d) is not %v", ns-newest, want)
		}
	}
	if !m.covers(newest+sec/2+clockStep, clockStep) {
		t.Error("the slack does not count")
	}
	if m := (marks{at(5, 10), at(20, 30)}).with(at(8, 25)); len(m) != 1 || m[0] != at(5, 30) {
		t.Errorf("overlapping windows: %v", m)
	}
}

func FuzzParseMarks(f *testing.F) {
	f.Add("1+2,3+4")
	f.Add("+,++,1+,zz+1,1+-1,-1+1")
	f.Fuzz(func(t *testing.T, s string) {
		m := parseMarks([]byte(s))
		for _, w := range m {
			if w.from < 0 || w.from > w.to {
				t.Errorf("%q gave %v", s, w)
			}
		}
		if again := parseMarks([]byte(m.String())); again.String() != m.String() {
			t.Errorf("%q: %q then %q", s, m.String(), again.String())
		}
	})
}

func FuzzRedirectTarget(f *testing.F) {
	for _, s := range []string{"a", "/a/b", "../x", "/..", "", "/", "a/b", "/a//b", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, parent := range []string{"", "/home/p"} {
			to, ok := redirectTarget(s, "/home", parent)
			if ok && (!within(to, "/home") || to == "/home") {
				t.Errorf("%q leads to %q", s, to)
			}
		}
	})
}
