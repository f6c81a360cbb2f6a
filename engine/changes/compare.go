package changes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

var compareBuffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// sameContent reports whether two entries of one type hold the same: bytes,
// link target, device number. What cannot be read (a program took the
// permission away, or the host never gave it) is not the same.
func sameContent(ctx context.Context, upper int, up entry.Entry, upName string, lower int, lo entry.Entry, loName string) (bool, error) {
	switch up.Type {
	case entry.File:
		if up.Size != lo.Size {
			return false, nil
		}
		if up.Size == 0 {
			return true, nil
		}
		return sameBytes(ctx, upper, upName, lower, loName)
	case entry.Symlink:
		return up.Target == lo.Target, nil
	case entry.Char, entry.Block:
		return up.Rdev == lo.Rdev, nil
	default:
		return true, nil
	}
}

func sameBytes(ctx context.Context, upper int, upName string, lower int, loName string) (bool, error) {
	a, _, err := entry.OpenFile(upper, upName)
	if err != nil {
		return false, fatal(err)
	}
	defer a.Close()
	b, _, err := entry.OpenFile(lower, loName)
	if err != nil {
		return false, fatal(err)
	}
	defer b.Close()

	bufp := compareBuffers.Get().(*[]byte)
	defer compareBuffers.Put(bufp)
	bufA, bufB := (*bufp)[:128<<10], (*bufp)[128<<10:]
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if n != m || !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		if errA == io.EOF || errA == io.ErrUnexpectedEOF {
			return true, nil
		}
		if err := errors.Join(errA, errB); err != nil {
			return false, fatal(err)
		}
	}
}

// fatal returns err when a scan cannot go on with it, else nil. Whatever a
// hostile or busy tree gives (no permission, gone meanwhile, another type
// meanwhile, a disk error in one file) is the business of that one entry; only
// an end of our own means ends the scan.
func fatal(err error) error {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, e) {
			return err
		}
	}
	return nil
}
