package initproc

import (
	"golang.org/x/sys/unix"
)

// loopbackUp brings lo up in a new network namespace, see netdevice(7).
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return cannot("bring up", "lo", err)
	}
	defer func() { _ = unix.Close(fd) }()
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return cannot("bring up", "lo", err)
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return cannot("bring up", "lo", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr))
}
