package launch

import (
	"os"
	"strings"

	"sandbox/engine/fault"
	"sandbox/engine/store"
)

// dirtyFile is there while a sandbox may hold writes that were never synced.
// It holds the boot id of the start.
const dirtyFile = "dirty"

func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b))
}

// noteCrash says once that the machine went down under a running sandbox. When
// only init died, the page cache still had everything and nothing is said.
func noteCrash(dir store.Dir, warn func(string)) error {
	path := dir.Path(dirtyFile)
	old, err := os.ReadFile(path)
	now := bootID()
	if err == nil && strings.TrimSpace(string(old)) != now && warn != nil {
		warn("the machine went down while sandbox " + dir.Name + " was running; its newest writes may be missing")
	}
	if err == nil && strings.TrimSpace(string(old)) == now {
		return nil
	}
	return fault.Wrap(fault.Failed, "write", path, os.WriteFile(path, []byte(now+"\n"), 0o600))
}

// MarkClean removes the mark after the storage was synced.
func MarkClean(dir store.Dir) { _ = os.Remove(dir.Path(dirtyFile)) }
