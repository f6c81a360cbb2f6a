package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"sandbox/engine"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/termsafe"
)

const diffHelp = `Prints a patch that "git apply" and "patch -p1" take in the working directory.
Paths outside it are relative to / and need their own "git apply" there.
On a terminal, control characters are made visible; piped, the bytes are exact.
--json gives the blocks with the ids that "accept --hunk" takes.
`

func diffAction(ctx context.Context, a *app) error {
	e, name, dir, err := a.openHere()
	if err != nil {
		return err
	}
	query := engine.Query{Dir: dir, Patterns: a.args, Ignored: a.ignored}
	if a.json {
		return a.diffJSON(ctx, e, name, query)
	}
	var to io.Writer = a.out
	safe := termsafe.NewWriter(a.out)
	if a.outTTY {
		to = safe
	}
	outside := false
	var notes []string
	done := a.progress("comparing")
	defer done()
	found, err := e.MapDiffs(ctx, name, query, func(f engine.FileDiff) (func() error, error) {
		var patch bytes.Buffer
		if err := writePatch(&patch, dir, f); err != nil {
			return nil, err
		}
		path, from, note := f.Change.Path, f.Change.From, conflictNote(f)
		return func() error {
			done()
			outside = outside || !engine.Below(path, dir) || (from != "" && !engine.Below(from, dir))
			if note != "" {
				notes = append(notes, safeErr(shown(dir, path))+note)
			}
			_, err := patch.WriteTo(to)
			return err
		}, nil
	})
	done()
	if serr := safe.Flush(); err == nil {
		err = serr
	}
	if err != nil {
		return ignorePipe(err)
	}
	for _, note := range notes {
		a.notef("sandbox: %s", note)
	}
	if outside {
		a.notef("sandbox: paths outside the working directory are relative to /")
	}
	if text := ignoredLine(found.Ignored, len(found.Matching) > 0, found.WhyIgnored()); text != "" {
		a.notef("sandbox: %s; --ignored shows them", text)
	}
	return a.finish()
}

// conflictNote says what a patch does to this machine's own change of a file,
// "" where it leaves it alone.
func conflictNote(f engine.FileDiff) string {
	overlaps := 0
	for _, h := range f.Hunks {
		if h.Conflict {
			overlaps++
		}
	}
	switch {
	case overlaps == 1:
		return ": one block overlaps with a change of this machine, and would overwrite it"
	case overlaps > 1:
		return fmt.Sprintf(": %d blocks overlap with changes of this machine, and would overwrite them", overlaps)
	case f.Change.Conflict:
		return ": changed on this machine too, and the patch takes that back (what both started from is not known)"
	}
	return ""
}

func (a *app) diffJSON(ctx context.Context, e *engine.Engine, name string, query engine.Query) error {
	files := []document{}
	_, err := e.EachDiff(ctx, name, query, func(f engine.FileDiff) error {
		row := document{
			"kind": f.Change.Kind, "host_hash": f.HostHash, "sandbox_hash": f.SandboxHash,
			"base": f.Base, "conflict": f.Change.Conflict, "hunks": hunkRows(f.Hunks),
		}
		putText(row, "path", f.Change.Path)
		if f.Change.Kind == changes.Renamed {
			putText(row, "from", f.Change.From)
		}
		if f.Change.Git != nil {
			row["git"] = gitDocument(&f.Change)
		}
		files = append(files, row)
		return nil
	})
	if err != nil {
		return err
	}
	a.answer(document{"sandbox": name, "files": files})
	return a.finish()
}

func hunkRows(hunks []diff.Hunk) []document {
	rows := make([]document, 0, len(hunks))
	for _, h := range hunks {
		lines := make([]document, 0, len(h.Lines))
		for _, l := range h.Lines {
			row := document{"op": l.Op, "text": string(l.Text)}
			if !utf8.Valid(l.Text) {
				row["text_bytes"] = base64.StdEncoding.EncodeToString(l.Text)
			}
			lines = append(lines, row)
		}
		row := document{"id": h.ID, "kind": h.Kind, "host": h.Host, "sandbox": h.Sandbox, "conflict": h.Conflict, "lines": lines}
		if h.Old != "" || h.New != "" {
			putText(row, "old", h.Old)
			putText(row, "new", h.New)
		}
		rows = append(rows, row)
	}
	return rows
}

// patchContext is the number of lines around a change that a patch shows.
const patchContext = 3

// writePatch writes the patch of one file.
func writePatch(w io.Writer, dir string, f engine.FileDiff) error {
	if f.Change.Git != nil {
		return writeGit(w, dir, &f.Change)
	}
	from := f.Change.Path
	if f.Change.Kind == changes.Renamed {
		from = f.Change.From
	}
	if engine.Below(from, dir) != engine.Below(f.Change.Path, dir) {
		// No directory has both names, so no program could apply the move.
		gone := diff.Side{Type: entry.None}
		if err := diff.Unified(w, patchPath(dir, from), patchPath(dir, from), f.Host, gone, patchContext); err != nil {
			return err
		}
		to := patchPath(dir, f.Change.Path)
		return diff.Unified(w, to, to, gone, f.Sandbox, patchContext)
	}
	return diff.Unified(w, patchPath(dir, from), patchPath(dir, f.Change.Path), f.Host, f.Taken(), patchContext)
}

// ignorePipe is nil for a reader who has seen enough.
func ignorePipe(err error) error {
	if errors.Is(err, unix.EPIPE) {
		return nil
	}
	return err
}

// patchPath is a path as a patch header has it.
func patchPath(dir, path string) string {
	if engine.Below(path, dir) && path != dir && dir != "/" {
		return path[len(dir)+1:]
	}
	return strings.TrimPrefix(path, "/")
}
