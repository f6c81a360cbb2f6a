package renames

import "golang.org/x/sys/unix"

// Offsets in struct seccomp_data.
const (
	offNr   = 0
	offArch = 4
)

// filter reports the given calls of one architecture to the listener and allows
// all else. Other architectures are the deny list's business (engine/harden):
// its answers, being stricter, win over a report.
func filter(arch uint32, reported []uint32) []unix.SockFilter {
	const load, equal, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	n := uint8(len(reported)) //nolint:gosec // a handful
	code := []unix.SockFilter{
		{Code: load, K: offArch},
		{Code: equal, K: arch, Jf: n + 1}, // another one: to ALLOW
		{Code: load, K: offNr},
	}
	for i, nr := range reported {
		code = append(code, unix.SockFilter{Code: equal, K: nr, Jt: n - uint8(i)}) //nolint:gosec // a handful
	}
	return append(code,
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF},
	)
}
