package rootfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sandbox/engine/rootfs"
)

// The keeper clears a sandbox's work directories while a delete removes them
// with all the rest: who comes second finds entries gone, and that is no error.
func TestTwoCanRemoveTheSameTree(t *testing.T) {
	for round := range 15 {
		dir := t.TempDir()
		for i := range 40 {
			deep := filepath.Join(dir, "tree", fmt.Sprint(i), "work", "work")
			if err := os.MkdirAll(deep, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(deep, 0); err != nil {
				t.Fatal(err)
			}
		}
		errs := make([]error, 2)
		var both sync.WaitGroup
		for i := range errs {
			both.Go(func() { errs[i] = removeTree(dir) })
		}
		both.Wait()
		for _, err := range errs {
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, "tree")); !os.IsNotExist(err) {
			t.Fatalf("the tree is still there: %v", err)
		}
	}
}

func removeTree(dir string) error {
	root, err := rootfs.Open(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // a descriptor for looking
	at, err := root.At("tree")
	if err != nil {
		return err
	}
	defer at.Close()
	return at.RemoveAll()
}
