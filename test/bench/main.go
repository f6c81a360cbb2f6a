// Command bench measures what a user waits for, and prints it as the tables that
// doc/performance.md holds: the start of a sandbox beside bash and bubblewrap,
// and the review of many changes beside find, diff and cp.
//
// All rows of a table are measured in one interleaved run, so that a busy moment
// of the machine meets them alike, and compared by their minimum. As root it
// measures both modes: as root, and as the ordinary user that the tests make.
//
// Only what a row names is timed. What a row needs before it, and what it leaves
// behind, is done outside of the clock; at the end nothing is left, or it fails.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	var o options
	flag.StringVar(&o.binary, "sandbox", "bin/sandbox", "the binary to measure")
	flag.IntVar(&o.starts, "starts", 40, "runs of each row of the start table")
	flag.IntVar(&o.reviews, "reviews", 7, "runs of each row of the review table")
	flag.IntVar(&o.files, "files", 2000, "files in the project that is reviewed; half of them are changed")
	flag.BoolVar(&o.child, "child", false, "measure as the user that this is, and no other")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench: FAILED:", err)
		os.Exit(1)
	}
}

type options struct {
	binary                 string
	starts, reviews, files int
	child                  bool
}

func run(o options) error {
	if o.child || os.Geteuid() != 0 {
		return measureHere(o)
	}
	if err := measureAsUser(o); err != nil {
		return fmt.Errorf("as an ordinary user: %w", err)
	}
	return measureHere(o)
}

// measureHere measures as the user that this process is.
func measureHere(o options) (err error) {
	b, err := newBench(o)
	if err != nil {
		return err
	}
	defer func() {
		if cleaning := b.clean(); err == nil {
			err = cleaning
		}
	}()
	b.describe()
	if err := b.start(); err != nil {
		return err
	}
	if err := b.review(); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return nil // the kernel renames directories itself there
	}
	return b.renames()
}
