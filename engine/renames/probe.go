package renames

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Probe tries whether a listener can be had here, on a thread that ends with
// it. Its error is the errno of the kernel: EINVAL for a kernel before 5.19,
// EBUSY below another listener.
func Probe() error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: the thread has a filter now
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			var fd int
			// A filter that reports nothing that this thread will call.
			if fd, err = install(filter(nativeArch, reported())); err == nil {
				_ = unix.Close(fd)
			}
		}
		result <- err
	}()
	return <-result
}
