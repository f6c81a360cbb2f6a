package harden

import (
	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// rootKeeps are the capabilities that root's commands keep inside the child
// user namespace. All others, also those that future kernels add, go. What is
// dropped, and why:
//
//   - SYS_PTRACE: without it the kernel refuses to let commands trace the
//     init, see Undumpable. Tracing one's own programs needs no capability.
//   - SYS_MODULE, SYS_BOOT, SYS_TIME, SYS_RAWIO: modules, reboot, the clock,
//     ports and raw disks belong to the machine. They mean nothing in a child
//     user namespace today; they are dropped so that they never will.
//   - MKNOD: device nodes of the host's devices.
//   - MAC_ADMIN, MAC_OVERRIDE: the policy of the machine's security module.
//   - AUDIT_CONTROL, AUDIT_READ, SYSLOG: the logs of the machine.
//   - BPF, PERFMON, CHECKPOINT_RESTORE: large kernel surface, and a view into
//     other processes.
//   - SYS_PACCT, SYS_TTY_CONFIG, WAKE_ALARM, BLOCK_SUSPEND: the machine's
//     accounting, consoles and power.
//
// SYS_ADMIN stays: package managers, bwrap and nested sandboxes mount things,
// which in a child user namespace reaches only that namespace's own mounts.
const rootKeeps = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH |
	1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_KILL | 1<<unix.CAP_SETGID |
	1<<unix.CAP_SETUID | 1<<unix.CAP_SETPCAP | 1<<unix.CAP_LINUX_IMMUTABLE |
	1<<unix.CAP_NET_BIND_SERVICE | 1<<unix.CAP_NET_BROADCAST | 1<<unix.CAP_NET_ADMIN |
	1<<unix.CAP_NET_RAW | 1<<unix.CAP_IPC_LOCK | 1<<unix.CAP_IPC_OWNER |
	1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_SYS_NICE |
	1<<unix.CAP_SYS_RESOURCE | 1<<unix.CAP_LEASE | 1<<unix.CAP_AUDIT_WRITE | 1<<unix.CAP_SETFCAP

// DropCapabilities takes every capability from the calling thread and from all
// that it will ever exec, and sets no_new_privs, so that setuid programs and
// file capabilities give nothing back. It is for an ordinary user's commands.
//
// Preconditions: the goroutine is locked to its OS thread, which holds
// CAP_SETPCAP in its user namespace.
func DropCapabilities() error {
	if err := limit(0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return refused("set no_new_privs", err)
	}
	return nil
}

// LimitRoot leaves the calling thread, and the programs it will exec as uid 0,
// only the capabilities that administration inside a child user namespace
// needs. It does not set no_new_privs: su and sudo from an ordinary user to
// root lead to this same limited root.
//
// Preconditions: as for DropCapabilities.
func LimitRoot() error { return limit(rootKeeps) }

// Undumpable closes the memory of the calling process, all its threads, and
// its files in /proc to processes that hold no CAP_SYS_PTRACE over it. The
// init of a sandbox needs it: its restricted thread has exactly the
// capabilities of the commands, so the kernel would let them trace that thread
// and through it change the memory of the whole process. It ends with exec, so
// the commands themselves can be traced as usual.
//
// It must come after id maps are written: the files in /proc/self belong to
// root from then on.
func Undumpable() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return refused("close the memory of init", err)
	}
	return nil
}

// limit clears the ambient set, takes all but keep from the bounding set, and
// then from the thread's own sets. The bounding set is what limits a later
// exec by uid 0.
func limit(keep uint64) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return refused("clear the ambient capabilities", err)
	}
	for c := uintptr(0); c < 64; c++ {
		if keep&(1<<c) != 0 {
			continue
		}
		switch err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err {
		case nil:
		case unix.EINVAL: // beyond the last capability of this kernel
			c = 64
		default:
			return refused("limit the bounding set", err)
		}
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var set [2]unix.CapUserData
	if err := unix.Capget(&hdr, &set[0]); err != nil {
		return refused("read the capabilities", err)
	}
	for i := range set {
		k := uint32(keep >> (32 * i)) //nolint:gosec // the wanted half
		set[i].Effective &= k
		set[i].Permitted &= k
		set[i].Inheritable = 0
	}
	if err := unix.Capset(&hdr, &set[0]); err != nil {
		return refused("drop capabilities", err)
	}
	return nil
}

// refused is the error of a restriction that did not take: the command must
// not run without it.
func refused(op string, err error) error {
	return &fault.Error{
		Code: fault.Unsupported, Op: op, Err: err,
		Hint: "Run `sandbox doctor`; no command is run without this restriction.",
	}
}
