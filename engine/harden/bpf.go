package harden

import "golang.org/x/sys/unix"

// Offsets in struct seccomp_data. The argument offsets are those of the low 32
// bits on a little-endian machine, which all supported ones are.
const (
	offNr   = 0
	offArch = 4
	offArg0 = 16
	offArg1 = 16 + 8
)

// asm assembles a classic BPF program whose conditional jumps go to labels
// that are defined later.
type asm struct {
	code   []unix.SockFilter
	fixes  []fix
	labels map[string]int
}

// fix is a conditional jump whose "true" side waits for a label.
type fix struct {
	at    int
	label string
}

// load puts the 32-bit word at an offset of struct seccomp_data in the accumulator.
func (a *asm) load(off uint32) { a.emit(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, off) }

// ret ends the program with an action.
func (a *asm) ret(action uint32) { a.emit(unix.BPF_RET|unix.BPF_K, action) }

// jumpEq goes to label when the accumulator equals k, else to the next instruction.
func (a *asm) jumpEq(k uint32, label string) { a.jump(unix.BPF_JEQ, k, label) }

// jumpGe goes to label when the accumulator is at least k (unsigned).
func (a *asm) jumpGe(k uint32, label string) { a.jump(unix.BPF_JGE, k, label) }

// jumpAny goes to label when the accumulator has any bit of k, else to the next
// instruction.
func (a *asm) jumpAny(k uint32, label string) { a.jump(unix.BPF_JSET, k, label) }

func (a *asm) jump(op uint16, k uint32, label string) {
	a.fixes = append(a.fixes, fix{len(a.code), label})
	a.emit(unix.BPF_JMP|op|unix.BPF_K, k)
}

func (a *asm) emit(code uint16, k uint32) {
	a.code = append(a.code, unix.SockFilter{Code: code, K: k})
}

// mark defines a label at the next instruction.
func (a *asm) mark(label string) {
	if a.labels == nil {
		a.labels = map[string]int{}
	}
	a.labels[label] = len(a.code)
}

// link resolves the jumps. A label that is missing, behind, or further than a
// jump reaches is a mistake in this package, so it panics.
func (a *asm) link() []unix.SockFilter {
	for _, f := range a.fixes {
		to, ok := a.labels[f.label]
		dist := to - f.at - 1
		if !ok || dist < 0 || dist > 255 {
			panic("harden: bad jump to " + f.label)
		}
		a.code[f.at].Jt = uint8(dist)
	}
	return a.code
}
