package base

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// BarrierDir is the directory, below Dir, in which a reader asks the keeper
// to get done with what happened so far: it makes a file there, and the keeper,
// which sees that after all that came before, removes it.
const BarrierDir = "barrier"

// Barrier waits until the keeper has written down everything that programs did
// before the call, but no longer than limit. It reports whether all is written
// down; when it is not (there is no keeper, or it is slow), what is missing
// counts as unknown.
func Barrier(dir string, limit time.Duration) bool {
	var b [8]byte
	_, _ = rand.Read(b[:])
	marker := filepath.Join(dir, BarrierDir, hex.EncodeToString(b[:]))
	f, err := os.OpenFile(marker, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	_ = f.Close()
	wait := 50 * time.Microsecond
	for end := time.Now().Add(limit); time.Now().Before(end); wait = min(2*wait, 5*time.Millisecond) {
		if _, err := os.Lstat(marker); errors.Is(err, fs.ErrNotExist) {
			return true
		}
		time.Sleep(wait)
	}
	_ = os.Remove(marker)
	return false
}
