package diff

import (
	"bytes"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// Apply returns the host's version with the hunks that take chooses, and only
// those. The hunks are what Compare gave for the same two sides, all or some
// of them; a hunk that does not fit the sides is a fault.Stale.
//
// All hunks taken give the sandbox's version byte for byte, none give the
// host's. In between each line is as in the side that was chosen for it, with
// the line ends, BOM, final newline and mode of the host unless their own
// hunks were taken. To reject hunks in the sandbox, take all others:
// Apply(host, sandbox, hunks, NotAmong(rejected)).
//
// The result shares memory with a side when it is that side's content.
func Apply(host, sandbox Side, hunks []Hunk, take func(Hunk) bool) (Side, error) {
	result := host
	var taken taking
	for _, h := range hunks {
		if !take(h) {
			continue
		}
		switch h.Kind {
		case Created, Deleted, TypeChange:
			if host.Type == sandbox.Type {
				return Side{}, misfit("both sides are of the same type")
			}
			return sandbox, nil
		case SymlinkMoved:
			if host.Type != entry.Symlink || sandbox.Type != entry.Symlink {
				return Side{}, misfit("not a symlink on both sides")
			}
			result.Target, result.Mode = sandbox.Target, sandbox.Mode
		case Renamed: // the contents say nothing about names
		case Mode:
			if host.Type != sandbox.Type {
				return Side{}, misfit("the sides are of different types")
			}
			result.Mode = sandbox.Mode
		case Binary:
			if host.Type != entry.File || sandbox.Type != entry.File {
				return Side{}, misfit("not a regular file on both sides")
			}
			result.Data = sandbox.Data
		case Lines:
			taken.lines = append(taken.lines, h)
		case EOL:
			taken.eol = true
		case BOM:
			taken.bom = true
		case FinalNewline:
			taken.final = true
		default:
			return Side{}, fault.New(fault.Internal, "apply a block", "", "unknown kind "+string(h.Kind), "")
		}
	}
	if !taken.any() {
		return result, nil
	}
	if !textPair(host, sandbox) {
		return Side{}, misfit("not text on both sides")
	}
	data, err := taken.apply(host.Data, sandbox.Data)
	if err != nil {
		return Side{}, err
	}
	result.Data = data
	return result, nil
}

// taking is what was chosen of a text.
type taking struct {
	lines           []Hunk
	eol, bom, final bool
}

func (t taking) any() bool { return len(t.lines) > 0 || t.eol || t.bom || t.final }

func (t taking) apply(hostData, sandboxData []byte) ([]byte, error) {
	host, sandbox, _ := decompose(hostData, sandboxData)
	out := text{bom: host.bom, style: host.style, final: host.final, norm: host.norm}
	if t.bom {
		out.bom = sandbox.bom
	}
	if t.eol || host.style == noEnds {
		out.style = sandbox.style
	}
	if t.final || len(host.norm) == 0 {
		out.final = sandbox.final
	}
	if host.style == mixed || sandbox.style == mixed {
		out.style = mixed // each line brings its own CR
	}
	if len(t.lines) > 0 {
		norm, err := t.applyLines(host.norm, sandbox.norm)
		if err != nil {
			return nil, err
		}
		out.norm = norm
	}
	return out.join(), nil
}

func (t taking) applyLines(host, sandbox []byte) ([]byte, error) {
	hostIdx, sandboxIdx := indexLines(host), indexLines(sandbox)
	out := make([]byte, 0, max(len(host), len(sandbox)))
	at := 0
	for _, h := range t.lines {
		h0, h1 := h.Host.span()
		s0, s1 := h.Sandbox.span()
		if h0 < at || h1 < h0 || h1 > hostIdx.lines() || s0 < 0 || s1 < s0 || s1 > sandboxIdx.lines() {
			return nil, misfit("a block is outside of the file")
		}
		oldLines, newLines := hostIdx.cut(host, h0, h1), sandboxIdx.cut(sandbox, s0, s1)
		if !sameLines(h.Lines, "-", oldLines) || !sameLines(h.Lines, "+", newLines) {
			return nil, misfit("the lines of a block have changed")
		}
		out = append(out, hostIdx.cut(host, at, h0)...)
		out = append(out, newLines...)
		at = h1
	}
	return append(out, host[hostIdx[at]:]...), nil
}

// sameLines reports whether a hunk's lines of one side are what stands there.
func sameLines(lines []Line, op string, norm []byte) bool {
	for _, l := range lines {
		if l.Op != op {
			continue
		}
		rest, ok := bytes.CutPrefix(norm, l.Text)
		if !ok || len(rest) == 0 || rest[0] != '\n' {
			return false
		}
		norm = rest[1:]
	}
	return len(norm) == 0
}

const lookAgain = "The file changed since it was compared; look at it again."

func misfit(reason string) error {
	return fault.New(fault.Stale, "apply a block", "", reason, lookAgain)
}
