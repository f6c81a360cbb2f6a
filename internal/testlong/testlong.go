// Package testlong says how much a test may take: `make test` wants an answer
// in minutes, `make test-long` wants every case.
package testlong

import "os"

// Enabled reports whether this is `make test-long`.
func Enabled() bool { return os.Getenv("SANDBOX_LONG") != "" }

// Pick gives the number for the run at hand: rounds, files, seeds.
func Pick(short, long int) int {
	if Enabled() {
		return long
	}
	return short
}
