package harden

import (
	"testing"

	"golang.org/x/sys/unix"
)

// run interprets the few instructions that filter uses.
func run(t *testing.T, code []unix.SockFilter, arch, nr uint32, arg uint64) uint32 {
	t.Helper()
	var acc uint32
	for pc := 0; pc < len(code); pc++ {
		in := code[pc]
		jump := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch in.K {
			case offNr:
				acc = nr
			case offArch:
				acc = arch
			case offArg0, offArg1: // each test has one argument that matters
				acc = uint32(arg)
			default:
				t.Fatalf("load of offset %d", in.K)
			}
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump = acc == in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			jump = acc&in.K != 0
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump = acc >= in.K
		default:
			t.Fatalf("instruction %#x at %d", in.Code, pc)
		}
		if jump {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
	t.Fatal("the program ran off its end")
	return 0
}

func TestFilterDecisions(t *testing.T) {
	const i386, x32 = unix.AUDIT_ARCH_I386, 0x40000000
	tests := []struct {
		name string
		arch uint32
		nr   uint32
		arg1 uint64
		want uint32
	}{
		{"read", nativeArch, unix.SYS_READ, 0, allow},
		{"clone", nativeArch, unix.SYS_CLONE, 0, allow},
		{"clone with a user namespace", nativeArch, unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_NEWNS, allow},
		{"clone with a cgroup namespace", nativeArch, unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_NEWCGROUP, denyEPERM},
		{"unshare of a cgroup namespace", nativeArch, unix.SYS_UNSHARE, unix.CLONE_NEWCGROUP, denyEPERM},
		{"unshare of mounts", nativeArch, unix.SYS_UNSHARE, unix.CLONE_NEWNS, allow},
		{"clone3, whose flags cannot be seen", nativeArch, unix.SYS_CLONE3, 0, denyENOSYS},
		{"ptrace, for debuggers", nativeArch, unix.SYS_PTRACE, 0, allow},
		{"pivot_root, for nested sandboxes", nativeArch, unix.SYS_PIVOT_ROOT, 0, allow},
		{"bpf", nativeArch, unix.SYS_BPF, 0, denyEPERM},
		{"keyctl", nativeArch, unix.SYS_KEYCTL, 0, denyEPERM},
		{"io_uring_setup", nativeArch, unix.SYS_IO_URING_SETUP, 0, denyENOSYS},
		{"ioctl TCGETS", nativeArch, unix.SYS_IOCTL, unix.TCGETS, allow},
		{"ioctl TIOCSTI", nativeArch, unix.SYS_IOCTL, unix.TIOCSTI, denyEPERM},
		{"ioctl TIOCLINUX", nativeArch, unix.SYS_IOCTL, unix.TIOCLINUX, denyEPERM},
		{"ioctl TIOCSTI with a high bit", nativeArch, unix.SYS_IOCTL, 1<<32 | unix.TIOCSTI, denyEPERM},
		{"ioctl TIOCSTI with all high bits", nativeArch, unix.SYS_IOCTL, 0xffffffff<<32 | unix.TIOCSTI, denyEPERM},
		{"read of TIOCSTI", nativeArch, unix.SYS_READ, unix.TIOCSTI, allow},
		{"i386 anything", i386, unix.SYS_READ, 0, killAll},
		{"i386 number of a denied call", i386, unix.SYS_BPF, 0, killAll},
	}
	if foreignFrom != 0 {
		tests = append(tests, []struct {
			name string
			arch uint32
			nr   uint32
			arg1 uint64
			want uint32
		}{
			{"x32 read", nativeArch, x32 + unix.SYS_READ, 0, denyENOSYS},
			{"x32 bpf", nativeArch, x32 + unix.SYS_BPF, 0, denyENOSYS},
			{"x32 ioctl", nativeArch, x32 + 514, unix.TIOCSTI, denyENOSYS},
			{"number -1", nativeArch, 0xffffffff, 0, denyENOSYS},
		}...)
	}
	code := filter(nativeArch, foreignFrom)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(t, code, tt.arch, tt.nr, tt.arg1); got != tt.want {
				t.Errorf("got %#x, want %#x", got, tt.want)
			}
		})
	}
	for _, nr := range denied {
		if got := run(t, code, nativeArch, nr, 0); got != denyEPERM {
			t.Errorf("denied call %d: %#x", nr, got)
		}
	}
}

func TestLinkRefusesJumpsItCannotEncode(t *testing.T) {
	tests := map[string]func(*asm){
		"missing label": func(a *asm) { a.jumpEq(1, "nowhere"); a.ret(allow) },
		"backward":      func(a *asm) { a.mark("x"); a.jumpEq(1, "x") },
		"too far": func(a *asm) {
			a.jumpEq(1, "x")
			for range 256 {
				a.load(offNr)
			}
			a.mark("x")
			a.ret(allow)
		},
	}
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			var a asm
			build(&a)
			a.link()
		})
	}
}
