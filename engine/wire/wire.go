// Package wire is a length-prefixed binary form for a few plain structs.
//
// It is not JSON because arguments, environment and paths are bytes that need
// not be UTF-8, and because nothing here may cost time when the program
// starts. It carries no version: the protocol that uses it does.
package wire

import (
	"encoding/binary"
	"errors"
)

// ErrShort is what a cut message gives.
var ErrShort = errors.New("message is cut short")

// Encoder appends values to B.
type Encoder struct{ B []byte }

// Num appends a signed number.
func (e *Encoder) Num(n int64) { e.B = binary.AppendVarint(e.B, n) }

// Str appends a string of any bytes.
func (e *Encoder) Str(s string) { e.Num(int64(len(s))); e.B = append(e.B, s...) }

// Flag appends a truth value.
func (e *Encoder) Flag(v bool) {
	n := int64(0)
	if v {
		n = 1
	}
	e.Num(n)
}

// Strs appends a list of strings.
func (e *Encoder) Strs(list []string) {
	e.Num(int64(len(list)))
	for _, s := range list {
		e.Str(s)
	}
}

// Dict appends a map of bytes.
func (e *Encoder) Dict(m map[string][]byte) {
	e.Num(int64(len(m)))
	for k, v := range m {
		e.Str(k)
		e.Str(string(v))
	}
}

// Decoder reads what Encoder wrote, in the same order. After the first error
// all values are zero.
type Decoder struct {
	B   []byte
	Err error
}

// Num reads a signed number.
func (d *Decoder) Num() int64 {
	n, used := binary.Varint(d.B)
	if used <= 0 {
		d.Err, d.B = ErrShort, nil
		return 0
	}
	d.B = d.B[used:]
	return n
}

// Flag reads a truth value.
func (d *Decoder) Flag() bool { return d.Num() != 0 }

// Str reads a string of any bytes.
func (d *Decoder) Str() string {
	n := d.Num()
	if n < 0 || n > int64(len(d.B)) {
		d.Err, d.B = ErrShort, nil
		return ""
	}
	s := string(d.B[:n])
	d.B = d.B[n:]
	return s
}

// Count reads the length of a list; each element takes at least one byte, so a
// length beyond what is left is a lie.
func (d *Decoder) Count() int {
	n := d.Num()
	if n < 0 || n > int64(len(d.B)) {
		d.Err, d.B = ErrShort, nil
		return 0
	}
	return int(n)
}

// Strs reads a list of strings.
func (d *Decoder) Strs() []string {
	var out []string
	for range d.Count() {
		out = append(out, d.Str())
	}
	return out
}

// Dict reads a map of bytes.
func (d *Decoder) Dict() map[string][]byte {
	n := d.Count()
	if n == 0 {
		return nil
	}
	out := make(map[string][]byte, n)
	for range n {
		k := d.Str()
		out[k] = []byte(d.Str())
	}
	return out
}
