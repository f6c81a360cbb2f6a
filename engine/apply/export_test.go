package apply

import "crypto/sha256"

// Sum is a short name for test dumps.
func Sum(data []byte) [32]byte { return sha256.Sum256(data) }

// OnChange calls f between any two changes that an operation makes; nil stops
// that.
func OnChange(f func(point string)) {
	if f == nil {
		f = func(string) {}
	}
	crash = f
}
