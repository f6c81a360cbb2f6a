package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sandbox/engine/store"
)

// A keeper clears up while a delete is under way.
func TestTwoRemovalsOfOneTree(t *testing.T) {
	for range 20 {
		root := filepath.Join(t.TempDir(), "tree")
		for i := range 30 {
			dir := filepath.Join(root, fmt.Sprint(i))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for j := range 5 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(j)), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if err := store.RemoveTree(root); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, err := os.Lstat(root); err == nil {
			t.Error("the tree is still there")
		}
	}
}
