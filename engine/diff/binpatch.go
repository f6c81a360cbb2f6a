package diff

import "compress/zlib"

// binary writes both contents in git's binary form: the new one to go
// forward, the old one so that the patch can be taken back.
func (w patchWriter) binary(old, changed []byte) {
	w.print("GIT binary patch\n")
	w.literal(changed)
	w.literal(old)
}

func (w patchWriter) literal(data []byte) {
	w.print("literal %d\n", len(data))
	lines := &base85Lines{w: w}
	z := zlib.NewWriter(lines)
	_, _ = z.Write(data) // base85Lines never fails
	_ = z.Close()
	lines.end()
	w.char('\n')
}

// base85Lines writes bytes as git does: up to 52 a line, the line's length as
// a letter in front, four bytes as five characters, most significant first.
type base85Lines struct {
	w    patchWriter
	line [52]byte
	n    int
}

const base85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

func (l *base85Lines) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		n := copy(l.line[l.n:], p)
		l.n += n
		p = p[n:]
		if l.n == len(l.line) {
			l.end()
		}
	}
	return written, nil
}

// end writes the line that is under way.
func (l *base85Lines) end() {
	if l.n == 0 {
		return
	}
	if l.n <= 26 {
		l.w.char(byte('A' + l.n - 1))
	} else {
		l.w.char(byte('a' + l.n - 27))
	}
	clear(l.line[l.n:])
	for i := 0; i < l.n; i += 4 {
		group := uint32(l.line[i])<<24 | uint32(l.line[i+1])<<16 | uint32(l.line[i+2])<<8 | uint32(l.line[i+3])
		var chars [5]byte
		for j := len(chars) - 1; j >= 0; j-- {
			chars[j] = base85[group%85]
			group /= 85
		}
		l.w.bytes(chars[:])
	}
	l.w.char('\n')
	l.n = 0
}
