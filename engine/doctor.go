package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
	"sandbox/engine/harden"
	"sandbox/engine/launch"
	"sandbox/engine/renames"
	"sandbox/engine/store"
)

// probeName is the name under which the binary tries to mount an overlay.
const probeName = "sandbox-probe"

// Finding is one thing that a sandbox needs from the machine.
type Finding struct {
	Check  string
	State  State
	Detail string
	Hint   string // what to do, "" when there is nothing to do
}

// State says whether a need is met.
type State string

// The states. Only missing ones keep sandboxes from working.
const (
	Fine    State = "ok"
	Partly  State = "partly"
	Missing State = "missing"
)

// Doctor tries what a sandbox needs on this machine, as this user.
func (e *Engine) Doctor() []Finding {
	return []Finding{kernel(), mode(), namespaces(), storage(e.Storage), overlay(e.Storage), landlock(), directoryRenames()}
}

func kernel() Finding {
	var u unix.Utsname
	_ = unix.Uname(&u) // cannot fail
	release := unix.ByteSliceToString(u.Release[:])
	var major, minor int
	_, _ = fmt.Sscanf(release, "%d.%d", &major, &minor) // an odd name counts as 0.0
	f := Finding{"kernel", Fine, "Linux " + release, ""}
	if major < 5 || (major == 5 && minor < 11) {
		f.State, f.Hint = Missing, "Linux 5.11 is the oldest that works."
	}
	return f
}

func mode() Finding {
	if launch.Mode() == store.ModePrivileged {
		return Finding{"mode", Fine, "privileged: the overlays are mounted by root", ""}
	}
	return Finding{"mode", Fine, "unprivileged: in a user namespace", ""}
}

// namespaces tries to make the namespaces of a sandbox.
func namespaces() Finding {
	flags := uintptr(unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNET)
	if err := probe(flags, "").Run(); err != nil {
		f := Finding{"namespaces", Missing, bareError(err).Error(), ""}
		switch {
		case sysctl("kernel/unprivileged_userns_clone") == "0":
			f.Hint = "sysctl kernel.unprivileged_userns_clone=1"
		case sysctl("user/max_user_namespaces") == "0":
			f.Hint = "sysctl user.max_user_namespaces=15000"
		case sysctl("user/max_mnt_namespaces") == "0":
			f.Hint = "sysctl user.max_mnt_namespaces=15000"
		case sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
			f.Hint = "An AppArmor profile with `userns,` for this program, or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
		default:
			f.Hint = "In a container? Its runtime forbids it; run this outside, or give it CAP_SYS_ADMIN."
		}
		return f
	}
	return Finding{"namespaces", Fine, "user, mount, pid, ipc, uts and network namespaces can be made", ""}
}

func storage(dir string) Finding {
	f := Finding{"storage", Fine, dir, ""}
	at := dir
	for {
		_, err := os.Stat(at)
		if err == nil || at == "/" {
			break
		}
		at = filepath.Dir(at)
	}
	if err := store.CheckUpper(at); err != nil {
		f.State, f.Detail, f.Hint = Missing, err.Error(), fault.HintOf(err)
	} else if err := unix.Access(at, unix.W_OK); err != nil {
		f.State, f.Detail, f.Hint = Missing, dir+": "+err.Error(), "Choose another with --storage-dir."
	}
	return f
}

// overlay tries to mount one in the storage directory.
func overlay(storage string) Finding {
	fail := func(err error, hint string) Finding { return Finding{"overlay", Missing, bareError(err).Error(), hint} }
	parent := storage
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		parent = filepath.Dir(storage)
	}
	dir, err := os.MkdirTemp(parent, ".probe-")
	if err != nil {
		return fail(err, "The storage directory cannot be written; choose another with --storage-dir.")
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary
	for _, sub := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return fail(err, "")
		}
	}
	out, err := probe(unix.CLONE_NEWNS, dir).CombinedOutput()
	_ = os.Chmod(filepath.Join(dir, "work", "work"), 0o700) // made without permissions; gone with dir
	if err != nil {
		reason := strings.TrimSpace(string(out))
		if reason == "" {
			reason = bareError(err).Error()
		}
		return Finding{"overlay", Missing, reason, "Is the overlay module there (modprobe overlay)? Is the storage on a local disk?"}
	}
	return Finding{"overlay", Fine, "an overlay can be mounted with its upper layer in the storage directory", ""}
}

func landlock() Finding {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 1)
	if errno != 0 || int(abi) < harden.LandlockScopesABI {
		return Finding{"landlock", Partly, "no scopes for abstract sockets and signals", "They matter with --net=host only; Linux 6.12 has them."}
	}
	return Finding{"landlock", Fine, "abstract sockets and signals are kept inside", ""}
}

// directoryRenames says who renames directories of the host.
func directoryRenames() Finding {
	const name = "renames"
	if launch.Mode() == store.ModePrivileged {
		return Finding{name, Fine, "the kernel renames directories of the host", ""}
	}
	switch err := renames.Probe(); err {
	case nil:
		return Finding{name, Fine, "directories of the host can be renamed", ""}
	case unix.EBUSY:
		return Finding{name, Partly, "directories of the host cannot be renamed, mv copies them: another program watches system calls already", "Inside of a sandbox it is always so."}
	default:
		return Finding{name, Partly, "directories of the host cannot be renamed, mv copies them: " + err.Error(), "Linux 5.19 has what it takes."}
	}
}

// probe is this program, under the name that tries an overlay, in new
// namespaces as a sandbox has them.
func probe(flags uintptr, dir string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe") //nolint:gosec // ourselves
	cmd.Args = []string{probeName, dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	if launch.Mode() == store.ModeUser {
		uid, gid := os.Getuid(), os.Getgid()
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER}
	}
	return cmd
}

// probeMain is the probe from inside: it mounts an overlay over relative
// names, so that no character in dir matters.
func probeMain(args []string) int {
	if len(args) == 0 || args[0] == "" {
		return 0
	}
	options := "lowerdir=lower,upperdir=upper,workdir=work"
	if os.Getuid() != 0 || launch.Mode() == store.ModeUser {
		options += ",userxattr"
	}
	err := unix.Chdir(args[0])
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err == nil {
		err = unix.Mount("overlay", "merged", "overlay", 0, options)
	}
	if err != nil {
		_, _ = os.Stdout.WriteString(err.Error())
		return 1
	}
	return 0
}

func sysctl(name string) string {
	b, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func bareError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
