// Command demo shows the whole product once, on a small project of its own: a
// scripted "agent" edits the project in a sandbox, then the review opens in
// Neovim. Without a terminal it prints status and diff, accepts one block and
// shows that exactly this block is on the host.
//
// It checks what it claims, fails loudly when a claim does not hold, and leaves
// nothing behind. `make demo` runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func main() {
	root := flag.String("root", "", "the checkout, an absolute path")
	flag.Parse()
	// Ctrl-C ends the command that runs; this process lives on to clean up.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, unix.SIGTERM, unix.SIGHUP)
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "demo: FAILED:", err)
		os.Exit(1)
	}
}

func run(root string) (err error) {
	d, err := prepare(root, filepath.Join(root, "bin", "sandbox"))
	if err != nil {
		return err
	}
	defer func() {
		if cleaning := d.clean(); err == nil {
			err = cleaning
		}
	}()
	if err := d.letTheAgentWork(); err != nil {
		return err
	}
	if interactive() {
		return d.review()
	}
	return d.acceptOneBlock()
}

// interactive reports whether a person sits in front of it.
func interactive() bool {
	for _, file := range []*os.File{os.Stdin, os.Stdout} {
		if !isTerminal(file) {
			return false
		}
	}
	return true
}
