package diff

import (
	"bufio"
	"bytes"
	"crypto/sha1" // git's names of contents, which the binary patch format demands
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"sandbox/engine/entry"
)

// Unified writes the difference as a patch that `git apply` and `patch -p1`
// accept: in git's extended form, on exact bytes, complete.
//
// The names are relative paths, as raw bytes; they are written with a/ and b/
// in front, quoted as git quotes (bytes beyond ASCII stay as they are). When
// they differ, the patch renames. Contents that are not text become a binary
// patch, which only git applies. A change of type is a deletion and a
// creation. Git has no form for directories, FIFOs, sockets and devices: they
// count as missing. Nothing is written when there is no difference left.
func Unified(w io.Writer, aName, bName string, host, sandbox Side, context int) error {
	old, changed := blobOf(host), blobOf(sandbox)
	out := patchWriter{out: bufio.NewWriter(w), context: max(0, context)}
	switch {
	case old.mode == 0 && changed.mode == 0:
	case old.mode != 0 && changed.mode != 0 && old.link != changed.link:
		out.entry(aName, aName, old, blob{})
		out.entry(bName, bName, blob{}, changed)
	default:
		out.entry(aName, bName, old, changed)
	}
	return out.out.Flush()
}

// blob is a side as git sees it.
type blob struct {
	mode uint32 // with type bits; 0: nothing there
	link bool
	data []byte
}

func blobOf(s Side) blob {
	switch s.Type {
	case entry.File:
		return blob{mode: 0o100000 | s.Mode&0o7777, data: s.Data}
	case entry.Symlink:
		return blob{mode: 0o120000, link: true, data: []byte(s.Target)}
	}
	return blob{}
}

// gitMode is the mode as git stores it. Git warns about any other mode of a
// file that it is to change or delete.
func (b blob) gitMode() uint32 {
	switch {
	case b.link || b.mode == 0:
		return b.mode
	case b.mode&0o100 != 0:
		return 0o100755
	}
	return 0o100644
}

// name is git's name of the content, zeros for no content.
func (b blob) name() string {
	if b.mode == 0 {
		return strings.Repeat("0", 2*sha1.Size)
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(b.data))
	h.Write(b.data)
	return hex.EncodeToString(h.Sum(nil))
}

func (b blob) text() bool {
	if b.link {
		return true
	}
	// Size alone does not make a patch binary, here as in git; the number of
	// lines does, because each of them costs memory.
	return !looksBinary(b.data) && bytes.Count(b.data, []byte{'\n'}) <= MaxTextLines
}

// patchWriter writes patches. The errors of out stay in it until its Flush.
type patchWriter struct {
	out     *bufio.Writer
	context int
}

func (w patchWriter) print(format string, args ...any) { fmt.Fprintf(w.out, format, args...) }

func (w patchWriter) bytes(b []byte) { _, _ = w.out.Write(b) }

func (w patchWriter) char(c byte) { _ = w.out.WriteByte(c) }

func (w patchWriter) entry(aName, bName string, old, changed blob) {
	sameData := bytes.Equal(old.data, changed.data)
	if aName == bName && old.mode == changed.mode && sameData {
		return
	}
	w.header(aName, bName, old, changed)
	both := old.mode != 0 && changed.mode != 0
	if sameData && both && !old.link {
		return
	}
	w.index(old, changed) // of a renamed link: it tells `patch` the type
	switch {
	case sameData: // an empty file comes or goes
	case old.text() && changed.text():
		w.names(aName, bName, old, changed)
		w.hunks(old.data, changed.data)
	default:
		w.binary(old.data, changed.data)
	}
}

func (w patchWriter) header(aName, bName string, old, changed blob) {
	w.print("diff --git %s %s\n", quoteWord("a/"+aName), quoteWord("b/"+bName))
	switch {
	case old.mode == 0:
		w.print("new file mode %06o\n", changed.mode)
	case changed.mode == 0:
		w.print("deleted file mode %06o\n", old.gitMode())
	case old.mode != changed.mode:
		w.print("old mode %06o\nnew mode %06o\n", old.mode, changed.mode)
	}
	if aName != bName {
		w.print("similarity index %d%%\n", int(100*Similarity(old.data, changed.data)))
		w.print("rename from %s\nrename to %s\n", quote(aName), quote(bName))
	}
}

func (w patchWriter) index(old, changed blob) {
	w.print("index %s..%s", old.name(), changed.name())
	if old.mode == changed.mode {
		w.print(" %06o", changed.gitMode())
	}
	w.char('\n')
}

func (w patchWriter) names(aName, bName string, old, changed blob) {
	a, b := "/dev/null", "/dev/null"
	if old.mode != 0 {
		a = quoteLine("a/" + aName)
	}
	if changed.mode != 0 {
		b = quoteLine("b/" + bName)
	}
	w.print("--- %s\n+++ %s\n", a, b)
}

// hunks writes the edits, those that are near each other as one hunk.
func (w patchWriter) hunks(old, changed []byte) {
	oldIdx, newIdx := indexLines(old), indexLines(changed)
	edits := compareLines(old, changed, oldIdx, newIdx, fineLines)
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].h0-edits[n-1].h1 <= 2*w.context {
			n++
		}
		w.hunk(edits[:n], old, changed, oldIdx, newIdx)
		edits = edits[n:]
	}
}

func (w patchWriter) hunk(edits []edit, old, changed []byte, oldIdx, newIdx index) {
	first, last := edits[0], edits[len(edits)-1]
	before := min(w.context, first.h0)
	after := min(w.context, oldIdx.lines()-last.h1)
	at := first.h0 - before
	w.print("@@ -%s +%s @@\n", hunkRange(at, last.h1+after), hunkRange(first.s0-before, last.s1+after))
	for _, e := range edits {
		w.lines(' ', oldIdx, old, at, e.h0)
		w.lines('-', oldIdx, old, e.h0, e.h1)
		w.lines('+', newIdx, changed, e.s0, e.s1)
		at = e.h1
	}
	w.lines(' ', oldIdx, old, at, at+after)
}

func (w patchWriter) lines(op byte, idx index, data []byte, from, to int) {
	for i := from; i < to; i++ {
		line := idx.cut(data, i, i+1)
		w.char(op)
		w.bytes(line)
		if line[len(line)-1] != '\n' {
			w.print("\n\\ No newline at end of file\n")
		}
	}
}

// hunkRange writes lines [from, to), counted from 0, as a hunk header does.
func hunkRange(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprintf("%d", from+1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}
