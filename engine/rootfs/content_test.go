package rootfs_test

import (
	"bytes"
	"os"
	"sync"
	"testing"

	"sandbox/engine/rootfs"
)

// A program that goes on writing must not hold a copy up: it ends where the
// file ended when it began.
func TestCopyOfAFileThatKeepsGrowing(t *testing.T) {
	dir := t.TempDir()
	src, err := os.OpenFile(dir+"/src", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	must(t, err)
	defer src.Close()
	begin := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	_, err = src.Write(begin)
	must(t, err)
	stop, started := make(chan struct{}), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		more := make([]byte, 1<<16)
		for n := 0; n < 256<<20; n += len(more) {
			select {
			case <-stop:
				return
			default:
				_, _ = src.Write(more)
			}
			if n == 0 {
				close(started)
			}
		}
	})
	<-started
	before, err := src.Stat()
	must(t, err)
	in, err := os.Open(dir + "/src")
	must(t, err)
	defer in.Close()
	dst, err := os.Create(dir + "/dst")
	must(t, err)
	defer dst.Close()
	must(t, rootfs.CopyContent(dst, in))
	close(stop)
	writing.Wait()
	after, err := src.Stat()
	must(t, err)
	got, err := os.ReadFile(dir + "/dst")
	must(t, err)
	if !bytes.HasPrefix(got, begin) || int64(len(got)) < before.Size() || int64(len(got)) > after.Size() {
		t.Errorf("%d bytes were copied of a file that had %d and has %d", len(got), before.Size(), after.Size())
	}
}
