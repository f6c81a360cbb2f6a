package gitdir

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's own checksum, against damage and not against attacks
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
)

var errIndex = errors.New("it cannot be read as an index")

// index is the part of an index file that says what is staged.
type index struct {
	entries []byte // path, mode, id, stage and flags of each, in order
	count   uint32
}

// SameIndex reports whether two index files stage the same: they differ in
// nothing but what git remembers about files on the disk, and in what it can
// work out again.
func SameIndex(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := parseIndex(a)
	if err != nil {
		return false
	}
	y, err := parseIndex(b)
	return err == nil && x.count == y.count && bytes.Equal(x.entries, y.entries)
}

// IsIndex recognises the beginning of an index.
func IsIndex(data []byte) bool { return bytes.HasPrefix(data, []byte("DIRC")) }

// MaxIndex is the size of the largest index that is read.
const MaxIndex = maxIndex

// Staged is a fingerprint of what an index stages, "" for what is no index.
func Staged(data []byte) string {
	x, err := parseIndex(data)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(x.entries)
	return hex.EncodeToString(sum[:])
}

// parseIndex reads an index of version 2, 3 or 4 of either object format.
func parseIndex(data []byte) (index, error) {
	for _, sum := range []hash.Hash{sha1.New(), sha256.New()} { //nolint:gosec // see above
		if x, err := parseIndexOf(data, sum); err == nil {
			return x, nil
		}
	}
	return index{}, errIndex
}

const indexStat = 40 // bytes before the object id: times, device, inode, mode, owner, size

func parseIndexOf(data []byte, sum hash.Hash) (index, error) {
	size := sum.Size()
	if len(data) > maxIndex || len(data) < 12+size || string(data[:4]) != "DIRC" {
		return index{}, errIndex
	}
	body, trailer := data[:len(data)-size], data[len(data)-size:]
	if !bytes.Equal(trailer, make([]byte, size)) { // zeros: index.skipHash
		sum.Write(body)
		if !bytes.Equal(sum.Sum(nil), trailer) {
			return index{}, errIndex
		}
	}
	version := binary.BigEndian.Uint32(body[4:])
	x := index{count: binary.BigEndian.Uint32(body[8:])}
	if version < 2 || version > 4 {
		return x, errIndex
	}
	rest := body[12:]
	var path []byte
	for range x.count {
		start := len(rest)
		if len(rest) < indexStat+size+2 {
			return x, errIndex
		}
		mode := rest[24:28]
		id := rest[indexStat : indexStat+size]
		flags := binary.BigEndian.Uint16(rest[indexStat+size:])
		rest = rest[indexStat+size+2:]
		more := uint16(0)
		if flags&0x4000 != 0 {
			if version == 2 || len(rest) < 2 {
				return x, errIndex
			}
			more = binary.BigEndian.Uint16(rest)
			rest = rest[2:]
		}
		if version == 4 {
			strip, n := offset(rest)
			if n == 0 || strip > uint64(len(path)) {
				return x, errIndex
			}
			path = path[:len(path)-int(strip)] //nolint:gosec // not more than its length
			rest = rest[n:]
		} else {
			path = path[:0]
		}
		end := bytes.IndexByte(rest, 0)
		if end < 0 || len(path)+end > 1<<16 {
			return x, errIndex
		}
		path = append(path, rest[:end]...)
		rest = rest[end+1:]
		if version < 4 {
			pad := (8 - (start-len(rest))%8) % 8
			if pad > len(rest) {
				return x, errIndex
			}
			rest = rest[pad:]
		}
		if len(x.entries) > maxIndex { // prefixes that are left out could make it grow without end
			return x, errIndex
		}
		x.entries = append(x.entries, path...)
		x.entries = append(x.entries, 0)
		x.entries = append(x.entries, mode...)
		x.entries = append(x.entries, id...)
		x.entries = binary.BigEndian.AppendUint16(x.entries, flags&0xb000) // assume-valid, stage
		x.entries = binary.BigEndian.AppendUint16(x.entries, more)
	}
	return x, checkExtensions(rest)
}

// checkExtensions refuses an index that keeps entries elsewhere.
func checkExtensions(rest []byte) error {
	for len(rest) > 0 {
		if len(rest) < 8 {
			return errIndex
		}
		name, size := string(rest[:4]), uint64(binary.BigEndian.Uint32(rest[4:]))
		if size > uint64(len(rest)-8) || name == "link" || name == "sdir" || name == "REUC" {
			return errIndex
		}
		rest = rest[8+size:]
	}
	return nil
}

// offset reads the number of version 4: seven bits a byte, the highest first.
func offset(data []byte) (value uint64, n int) {
	for n < len(data) && n < 9 {
		b := data[n]
		if n > 0 {
			value++
		}
		value = value<<7 | uint64(b&0x7f)
		n++
		if b&0x80 == 0 {
			return value, n
		}
	}
	return 0, 0
}
