package diff

import (
	"bytes"

	"sandbox/engine/entry"
)

// Count returns how many lines the sandbox's version adds and removes; both
// are -1 when content that is no text changed. What is no regular file has no
// lines. The numbers are those of the line hunks that Compare gives, so a
// change of line ends or mode alone counts as 0, 0.
func Count(host, sandbox Side) (added, removed int) {
	hostFile, sandboxFile := host.Type == entry.File, sandbox.Type == entry.File
	if hostFile && sandboxFile && bytes.Equal(host.Data, sandbox.Data) {
		return 0, 0
	}
	if (hostFile && notText(host.Data) != "") || (sandboxFile && notText(sandbox.Data) != "") {
		return -1, -1
	}
	if !hostFile || !sandboxFile {
		if hostFile {
			removed = countLines(host.Data)
		}
		if sandboxFile {
			added = countLines(sandbox.Data)
		}
		return added, removed
	}
	h, s, _ := decompose(host.Data, sandbox.Data)
	if len(h.norm) == 0 || len(s.norm) == 0 {
		return s.lines(), h.lines()
	}
	for _, e := range compareLines(h.norm, s.norm, indexLines(h.norm), indexLines(s.norm), fineLines) {
		added += e.s1 - e.s0
		removed += e.h1 - e.h0
	}
	return added, removed
}

// CountHunks is Count for hunks that are there.
func CountHunks(hunks []Hunk) (added, removed int) {
	for _, h := range hunks {
		if h.Kind == Binary {
			return -1, -1
		}
		for _, l := range h.Lines {
			if l.Op == "+" {
				added++
			} else {
				removed++
			}
		}
	}
	return added, removed
}

// countLines counts the lines of one text without taking it apart.
func countLines(data []byte) int {
	body := bytes.TrimPrefix(data, utf8BOM)
	n := bytes.Count(body, []byte{'\n'})
	if len(body) > 0 && !bytes.HasSuffix(body, []byte{'\n'}) {
		n++
	}
	return n
}
