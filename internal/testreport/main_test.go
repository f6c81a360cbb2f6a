package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const (
		pass = `{"Action":"output","Package":"p","Test":"TestA","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`
		skip = `{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: no kernel\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
`
		fail = `{"Action":"output","Package":"q","Test":"TestC","Output":"    c_test.go:9: wrong\n"}
{"Action":"fail","Package":"q","Test":"TestC"}
{"Action":"fail","Package":"q"}
`
		panics = `{"Action":"output","Package":"q","Test":"TestD","Output":"panic: oh\n"}
{"Action":"fail","Package":"q"}
`
		build = `{"Action":"build-output","ImportPath":"q","Output":"q.go:1: no\n"}
{"Action":"fail","Package":"q"}
`
	)
	for _, test := range []struct {
		name, in string
		noSkips  bool
		ok       bool
		want     string // "|" between the lines
	}{
		{"a success is quiet", pass, false, true, "ok  \tp\t0.1s|ok: 1 passed, 0 failed, 0 skipped|"},
		{"a skip says why", pass + skip, false, true, "ok  \tp\t0.1s|skipped p TestB: no kernel|ok: 1 passed, 0 failed, 1 skipped|"},
		{"a skip can be a failure", pass + skip, true, false, "ok  \tp\t0.1s|skipped p TestB: no kernel|FAIL: 1 passed, 0 failed, 1 skipped|"},
		{"a failure shows its output", pass + fail, false, false, "ok  \tp\t0.1s|    c_test.go:9: wrong|failed  q TestC|FAIL: 1 passed, 1 failed, 0 skipped|"},
		{"so does a panic", pass + panics, false, false, "ok  \tp\t0.1s|panic: oh|failed  q TestD|FAIL: 1 passed, 1 failed, 0 skipped|"},
		{"and what does not compile", pass + build, false, false, "ok  \tp\t0.1s|q.go:1: no|FAIL: 1 passed, 0 failed, 0 skipped|"},
		{"no test at all is a failure", "", false, false, "FAIL: 0 passed, 0 failed, 0 skipped|"},
		{"what go says itself is passed on", "go: no such module\n" + pass, false, true, "go: no such module|ok  \tp\t0.1s|ok: 1 passed, 0 failed, 0 skipped|"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			r := &report{out: &out, output: map[string]*strings.Builder{}}
			if err := r.read(strings.NewReader(test.in)); err != nil {
				t.Fatal(err)
			}
			ok := r.close(test.noSkips)
			if got := strings.ReplaceAll(out.String(), "\n", "|"); ok != test.ok || got != test.want {
				t.Errorf("ok = %v, output = %q\nwant %v, %q", ok, got, test.ok, test.want)
			}
		})
	}
}
