package base

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strings"

	"sandbox/engine/entry"
)

// A record is: its length and the CRC-32C of what follows (4 bytes each, little
// endian), flags (1 byte), the path, the print, numbers as varints, the target.
// Strings have their length before them.

const (
	flagDeleted = 1 << iota
	flagGone
)

const headerBytes = 8

// maxRecord bounds a record: a path and a link's target, and some numbers.
const maxRecord = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// types in the order of their numbers in a record, which must not change.
var types = []entry.Type{entry.None, entry.File, entry.Dir, entry.Symlink, entry.Fifo, entry.Socket, entry.Char, entry.Block}

// encode appends a record to buf.
func encode(buf []byte, r Record) []byte {
	start := len(buf)
	buf = append(buf, make([]byte, headerBytes)...)
	var flags byte
	if r.Deleted {
		flags |= flagDeleted
	}
	if r.gone {
		flags |= flagGone
	}
	buf = append(buf, flags)
	buf = appendText(buf, r.Path)
	buf = appendText(buf, shorten(r.Print))
	h := r.Host
	for _, n := range []int64{
		int64(numberOf(h.Type)), int64(h.Mode), int64(h.UID), int64(h.GID), h.Size, h.MtimeNs, h.CtimeNs, h.BtimeNs,
		int64(h.Dev), int64(h.Ino), int64(h.Nlink), int64(h.Rdev), r.SinceNs, r.offset, r.size, //nolint:gosec // the bits come back as they went
	} {
		buf = binary.AppendVarint(buf, n)
	}
	buf = appendText(buf, h.Target)
	body := buf[start+headerBytes:]
	binary.LittleEndian.PutUint32(buf[start:], uint32(len(body))) //nolint:gosec // bounded by the lengths of paths
	binary.LittleEndian.PutUint32(buf[start+4:], crc32.Checksum(body, castagnoli))
	return buf
}

func appendText(buf []byte, s string) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(s))), s...)
}

// shorten writes a file's print in half of its length.
func shorten(p entry.Print) string {
	if sum, ok := strings.CutPrefix(string(p), "file:"); ok {
		if raw, err := hex.DecodeString(sum); err == nil {
			return "f" + string(raw)
		}
	}
	if p == "" {
		return ""
	}
	return "=" + string(p)
}

func lengthen(s string) entry.Print {
	switch {
	case s == "":
		return ""
	case s[0] == 'f':
		return entry.Print("file:" + hex.EncodeToString([]byte(s[1:])))
	}
	return entry.Print(s[1:])
}

func numberOf(t entry.Type) int {
	for i, known := range types {
		if known == t {
			return i
		}
	}
	return 0
}

// peek gives path and flags of the first record in data and where the next
// begins.
func peek(data []byte) (path []byte, flags byte, next int, ok bool) {
	body, ok := bodyOf(data)
	if !ok {
		return nil, 0, 0, false
	}
	c := cursor{rest: body[1:]}
	path = c.text()
	return path, body[0], headerBytes + len(body), !c.bad
}

// boundsOf gives the body of the first record in data, unchecked.
func boundsOf(data []byte) ([]byte, bool) {
	if len(data) < headerBytes+1 {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(data)
	if n == 0 || n > maxRecord || int(n) > len(data)-headerBytes {
		return nil, false
	}
	return data[headerBytes : headerBytes+n], true
}

func bodyOf(data []byte) ([]byte, bool) {
	body, ok := boundsOf(data)
	return body, ok && crc32.Checksum(body, castagnoli) == binary.LittleEndian.Uint32(data[4:])
}

// decode reads the first record in data.
func decode(data []byte) (r Record, ok bool) {
	body, ok := bodyOf(data)
	if !ok {
		return r, false
	}
	c := cursor{rest: body[1:]}
	r.Deleted, r.gone = body[0]&flagDeleted != 0, body[0]&flagGone != 0
	r.Path = string(c.text())
	r.Print = lengthen(string(c.text()))
	h := &r.Host
	kind := c.number()
	if kind < 0 || kind >= int64(len(types)) {
		return r, false
	}
	h.Type = types[kind]
	//nolint:gosec // the bits come back as they went
	h.Mode, h.UID, h.GID = uint32(c.number()), uint32(c.number()), uint32(c.number())
	h.Size, h.MtimeNs, h.CtimeNs, h.BtimeNs = c.number(), c.number(), c.number(), c.number()
	h.Dev, h.Ino, h.Nlink, h.Rdev = uint64(c.number()), uint64(c.number()), uint64(c.number()), uint64(c.number()) //nolint:gosec // as above
	r.SinceNs, r.offset, r.size = c.number(), c.number(), c.number()
	h.Target = string(c.text())
	return r, !c.bad && r.size >= 0 && r.offset >= 0
}

// cursor reads the parts of a record; bad is set when one is not there.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) text() []byte {
	n, used := binary.Uvarint(c.rest)
	if used <= 0 || n > uint64(len(c.rest)-used) {
		c.bad = true
		return nil
	}
	text := c.rest[used : used+int(n)] //nolint:gosec // bounded above
	c.rest = c.rest[used+int(n):]      //nolint:gosec // bounded above
	return text
}

func (c *cursor) number() int64 {
	n, used := binary.Varint(c.rest)
	if used <= 0 {
		c.bad = true
		return 0
	}
	c.rest = c.rest[used:]
	return n
}
