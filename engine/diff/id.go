package diff

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// contextLines is how many lines on each side belong to a line hunk's identity.
const contextLines = 3

// identity collects what a hunk is; fields are written with their length, so
// that no two lists of fields give the same bytes.
type identity struct{ sum hash.Hash }

func newIdentity(path string, kind Kind) identity {
	id := identity{sha256.New()}
	id.add([]byte(path))
	id.add([]byte(kind))
	return id
}

func (id identity) add(field []byte) {
	id.number(len(field))
	id.sum.Write(field)
}

func (id identity) number(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	id.sum.Write(b[:])
}

func (id identity) String() string { return hex.EncodeToString(id.sum.Sum(nil)[:8]) }

// attributeID names an attribute hunk by its two values; one that is taken
// whole also by the content that it stands for.
func attributeID(path string, h Hunk, host, sandbox Side) string {
	id := newIdentity(path, h.Kind)
	id.add([]byte(h.Old))
	id.add([]byte(h.New))
	switch h.Kind {
	case Created, Deleted, TypeChange, Binary:
		for _, side := range []Side{host, sandbox} {
			id.add([]byte(side.Target))
			id.add(side.Data)
		}
	}
	return id.String()
}

// lineIDs names line hunks. The context is the sandbox's: an accept leaves the
// sandbox as it is, so the ids of the other hunks stay. For the same reason
// the ordinal among equals counts places in the sandbox's text that look like
// this hunk and not hunks: an accepted twin keeps its number. With the ordinal
// goes the number of such places, so that when a twin comes or goes an old id
// is unknown and never names its neighbour.
func lineIDs(path string, edits []edit, host, sandbox []byte, hostIdx, sandboxIdx index) []string {
	ids := make([]string, len(edits))
	twins := countTwins(edits, sandbox, sandboxIdx)
	for i, e := range edits {
		id := newIdentity(path, Lines)
		id.add(hostIdx.cut(host, e.h0, e.h1))
		id.add(sandboxIdx.cut(sandbox, e.s0, e.s1))
		id.add(sandboxIdx.cut(sandbox, max(0, e.s0-contextLines), e.s0))
		id.add(sandboxIdx.cut(sandbox, e.s1, min(sandboxIdx.lines(), e.s1+contextLines)))
		id.number(twins[i].ordinal)
		id.number(twins[i].total)
		ids[i] = id.String()
	}
	return ids
}

// twin says which of the places that look alike a hunk is.
type twin struct{ ordinal, total int }

// window is the part of the sandbox's text that is searched for: the hunk's
// new lines with context. Of a long hunk the first lines are enough, because
// two hunks never start at the same line.
const windowLines = 64

func window(e edit, lines int) (from, to int) {
	return max(0, e.s0-contextLines), min(lines, min(e.s1, e.s0+windowLines)+contextLines)
}

// countTwins looks for each hunk's window everywhere in the sandbox's text,
// with one pass of a rolling hash for each length of a window. The hash is
// fixed, not seeded: two processes must agree on the ids, and all that a
// collision does is to make a number larger.
func countTwins(edits []edit, sandbox []byte, idx index) []twin {
	twins := make([]twin, len(edits))
	n := idx.lines()
	byLength := map[int][]int{}
	for i, e := range edits {
		from, to := window(e, n)
		byLength[to-from] = append(byLength[to-from], i)
	}
	prefix := prefixHashes(sandbox, idx)
	for length, hunks := range byLength {
		if length == 0 {
			continue
		}
		power := uint64(1)
		for range length {
			power *= hashBase
		}
		at := func(p int) uint64 { return prefix[p+length] - prefix[p]*power }

		var filter [1 << 10]uint64 // skips the map for nearly all places
		seen := make(map[uint64]int, len(hunks))
		starts := make(map[int]uint64, len(hunks))
		for _, i := range hunks {
			from, _ := window(edits[i], n)
			h := at(from)
			filter[h>>54] |= 1 << (h >> 48 & 63)
			seen[h] = 0
			starts[from] = h
		}
		ordinals := make(map[int]int, len(hunks))
		for p := 0; p+length <= n; p++ {
			h := at(p)
			if filter[h>>54]&(1<<(h>>48&63)) == 0 {
				continue
			}
			count, ok := seen[h]
			if !ok {
				continue
			}
			if _, ok := starts[p]; ok {
				ordinals[p] = count
			}
			seen[h] = count + 1
		}
		for _, i := range hunks {
			from, _ := window(edits[i], n)
			twins[i] = twin{ordinals[from], seen[starts[from]]}
		}
	}
	return twins
}

const hashBase = 0x9E3779B97F4A7C15

// prefixHashes returns the polynomial hash of the first i lines for each i.
func prefixHashes(text []byte, idx index) []uint64 {
	const fnvOffset, fnvPrime = 14695981039346656037, 1099511628211
	prefix := make([]uint64, idx.lines()+1)
	for i := range idx.lines() {
		line := uint64(fnvOffset)
		for _, c := range idx.cut(text, i, i+1) {
			line = (line ^ uint64(c)) * fnvPrime
		}
		prefix[i+1] = prefix[i]*hashBase + line
	}
	return prefix
}
