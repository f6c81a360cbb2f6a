package base

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// syncPrefix begins the names in BarrierDir that nobody waits for.
const syncPrefix = "sync-"

// Synced tells the keeper that since a moment what lies below the paths (all,
// when there are none) is seen inside as the host has it, because what was
// cached was dropped. When it cannot be told, the keeper trusts less.
func Synced(dir string, since time.Time, paths ...string) {
	var b [8]byte
	_, _ = rand.Read(b[:])
	name := syncPrefix + hex.EncodeToString(b[:])
	made := filepath.Join(dir, name)
	if os.WriteFile(made, []byte(strings.Join(paths, "\x00")), 0o600) != nil {
		return
	}
	err := os.Chtimes(made, since, since)
	if err == nil {
		err = os.Rename(made, filepath.Join(dir, BarrierDir, name))
	}
	if err != nil {
		_ = os.Remove(made)
	}
}

// ReadSynced reads what Synced left under a name in BarrierDir; ok is false for
// the other names.
func ReadSynced(dir, name string) (sinceNs int64, paths []string, ok bool) {
	if !strings.HasPrefix(name, syncPrefix) {
		return 0, nil, false
	}
	f, err := os.OpenFile(filepath.Join(dir, BarrierDir, name), os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, nil, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return 0, nil, false
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil {
		return 0, nil, false
	}
	if len(text) > 0 {
		paths = strings.Split(string(text), "\x00")
	}
	return info.ModTime().UnixNano(), paths, true
}
