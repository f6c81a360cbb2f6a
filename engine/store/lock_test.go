package store_test

import (
	"path/filepath"
	"sync"
	"testing"

	"sandbox/engine/store"
)

// A keeper that looks whether its sandbox is up must not make a delete believe
// that it is.
func TestAskingDoesNotLookLikeHolding(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := store.TryLock(path)
	if err != nil || first == nil {
		t.Fatalf("a free lock: %v, %v", first, err)
	}
	if !store.Held(path) {
		t.Error("a lock that is held is not said to be")
	}
	if second, err := store.TryLock(path); err != nil || second != nil {
		t.Errorf("a lock that is held was taken: %v, %v", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	stop := make(chan struct{})
	var askers, asking sync.WaitGroup
	for range 4 {
		asking.Add(1)
		askers.Go(func() {
			store.Held(path)
			asking.Done()
			for {
				select {
				case <-stop:
					return
				default:
					store.Held(path)
				}
			}
		})
	}
	defer askers.Wait()
	defer close(stop)
	asking.Wait()
	for round := range 2000 {
		lock, err := store.TryLock(path)
		if err != nil || lock == nil {
			t.Fatalf("round %d: nobody holds it, and it cannot be taken: %v", round, err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
