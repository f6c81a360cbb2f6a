package apply

import "crypto/sha256"

// Sum is a short name for test dumps.
func Sum(data []byte) [32]byte { return sha256.Sum256(data) }

var allWorkers = workers

// OnChange calls f between any two changes that an operation makes, which it
// does one after the other meanwhile; nil stops that.
func OnChange(f func(point string)) {
	workers = 1
	if f == nil {
		f, workers = func(string) {}, allWorkers
	}
	crash = f
}
