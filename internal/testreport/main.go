// Command testreport reads `go test -json` and prints what a person wants to
// see: each package's closing line, the whole output of what failed, what was
// skipped and why, and one line of totals at the end. It exits 1 when anything
// failed, or was skipped without being allowed to.
//
//	go test -json ./... | testreport [-no-skips]
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// event is one line of `go test -json` (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
}

type report struct {
	out     io.Writer
	output  map[string]*strings.Builder // of each running test
	failed  []string
	skipped []string
	passed  int
	broken  bool // a package failed without a failing test
}

func main() {
	noSkips := flag.Bool("no-skips", false, "a skipped test is a failure")
	flag.Parse()
	r := &report{out: os.Stdout, output: map[string]*strings.Builder{}}
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if !r.close(*noSkips) {
		os.Exit(1)
	}
}

func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(r.out, "%s", line) // not JSON: go itself has something to say
			} else {
				r.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		if e.Test == "" {
			r.packageOutput(e.Output)
			return
		}
		if r.output[key] == nil {
			r.output[key] = &strings.Builder{}
		}
		r.output[key].WriteString(e.Output)
	case "pass", "skip", "fail":
		r.end(e, key)
	}
}

// packageOutput passes on a package's own lines, without those of a quiet
// success.
func (r *report) packageOutput(line string) {
	if line == "PASS\n" || strings.Contains(line, "[no test files]") {
		return
	}
	fmt.Fprint(r.out, line)
}

func (r *report) end(e event, key string) {
	said := ""
	if b := r.output[key]; b != nil {
		said = b.String()
		delete(r.output, key)
	}
	switch {
	case e.Test == "" && e.Action == "fail":
		r.broken = true
		r.unfinished(e.Package)
	case e.Test == "":
	case e.Action == "pass":
		r.passed++
	case e.Action == "skip":
		r.skipped = append(r.skipped, key+": "+reason(said))
	case e.Action == "fail":
		r.failed = append(r.failed, key)
		fmt.Fprint(r.out, said)
	}
}

// unfinished prints what tests said that a package's end cut off: a panic, a
// timeout.
func (r *report) unfinished(pkg string) {
	var keys []string
	for key := range r.output {
		if strings.HasPrefix(key, pkg+" ") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		fmt.Fprint(r.out, r.output[key].String())
		r.failed = append(r.failed, key)
		delete(r.output, key)
	}
}

// reason picks the words of t.Skip out of a skipped test's output.
func reason(said string) string {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") && line != "" {
			if _, words, ok := strings.Cut(line, ": "); ok {
				return words
			}
			return line
		}
	}
	return "no reason given"
}

func (r *report) close(noSkips bool) bool {
	for _, skip := range r.skipped {
		fmt.Fprintln(r.out, "skipped", skip)
	}
	for _, fail := range r.failed {
		fmt.Fprintln(r.out, "failed ", fail)
	}
	ok := len(r.failed) == 0 && !r.broken && r.passed > 0 && (!noSkips || len(r.skipped) == 0)
	verdict := "ok"
	if !ok {
		verdict = "FAIL"
	}
	fmt.Fprintf(r.out, "%s: %d passed, %d failed, %d skipped\n", verdict, r.passed, len(r.failed), len(r.skipped))
	return ok
}
