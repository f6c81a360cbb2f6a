package main

import (
	"fmt"
	"sync"
	"time"
)

const (
	progressAfter = time.Second
	progressEvery = 500 * time.Millisecond
)

// progress shows on a terminal that long work goes on, from its second second,
// in one line that is erased by the function it returns. That function may be
// called more than once; call it before anything is printed.
func (a *app) progress(what string) (done func()) {
	if !a.errTTY || a.json {
		return func() {}
	}
	began := time.Now()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		wait := time.NewTimer(progressAfter)
		defer wait.Stop()
		shown := false
		for {
			select {
			case <-stop:
				if shown {
					fmt.Fprint(a.errs, "\r\x1b[K")
				}
				return
			case <-wait.C:
				shown = true
				fmt.Fprintf(a.errs, "\r\x1b[Ksandbox: %s … %d s", what, int(time.Since(began).Seconds()))
				wait.Reset(progressEvery)
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop); <-ended })
}
