package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// row is one line of a table.
type row struct {
	name   string
	argv   []string
	dir    string              // "" for the working folder
	before func() error        // outside of the clock
	after  func([]byte) error  // outside of the clock; takes what was printed
	exits  func(code int) bool // nil: only 0 is right

	times []time.Duration
	peak  int64 // KiB of memory, the most that a run used
}

// measure runs all rows in rounds, each round in another order.
func (b *bench) measure(rounds int, rows []*row) error {
	order := slices.Clone(rows)
	for range rounds {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, r := range order {
			if err := b.once(r); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	return nil
}

func (b *bench) once(r *row) error {
	if r.before != nil {
		if err := r.before(); err != nil {
			return err
		}
	}
	cmd := exec.Command(r.argv[0], r.argv[1:]...)
	cmd.Dir = r.dir
	if cmd.Dir == "" {
		cmd.Dir = b.work
	}
	var out, stderr bytes.Buffer
	if r.after != nil {
		cmd.Stdout = &out
	}
	errors, err := os.CreateTemp(b.work, "stderr-") // a file: no goroutine of ours has to wake up
	if err != nil {
		return err
	}
	defer os.Remove(errors.Name()) //nolint:errcheck // goes with the folder
	defer errors.Close()
	cmd.Stderr = errors
	began := time.Now()
	err = cmd.Run()
	took := time.Since(began)
	if code := cmd.ProcessState.ExitCode(); err != nil && (r.exits == nil || !r.exits(code)) {
		if said, reading := os.ReadFile(errors.Name()); reading == nil {
			stderr.Write(said)
		}
		return fmt.Errorf("%s: %w\n%s%s", strings.Join(r.argv, " "), err, stderr.Bytes(), out.Bytes())
	}
	r.times = append(r.times, took)
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.peak = max(r.peak, usage.Maxrss)
	}
	if r.after != nil {
		return r.after(out.Bytes())
	}
	return nil
}

// minimum is the best time of a row.
func (r *row) minimum() time.Duration { return slices.Min(r.times) }

func (r *row) median() time.Duration {
	sorted := slices.Sorted(slices.Values(r.times))
	return sorted[len(sorted)/2]
}

// table prints rows beside the yardsticks among them, as Markdown.
func table(rows []*row, yardsticks ...*row) {
	fmt.Print("| | min ms | median ms | peak MiB |")
	for _, y := range yardsticks {
		fmt.Printf(" / %s |", y.name)
	}
	fmt.Printf("\n|---|---|---|---|%s\n", strings.Repeat("---|", len(yardsticks)))
	for _, r := range rows {
		fmt.Printf("| %s | %.2f | %.2f | %d |", r.name, ms(r.minimum()), ms(r.median()), r.peak>>10)
		for _, y := range yardsticks {
			fmt.Printf(" %.2f |", float64(r.minimum())/float64(y.minimum()))
		}
		fmt.Println()
	}
	fmt.Println()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
