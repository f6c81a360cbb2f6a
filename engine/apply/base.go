package apply

import (
	"slices"
	"strings"

	"sandbox/engine/base"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
)

// baseOf gives the version from which the two sides of a change went apart,
// when the host changed since and it is known. host is the host's version.
func (w *work) baseOf(c *changes.Change, path string, host diff.Side) (diff.Side, bool) {
	if c.Base != changes.BaseKnown || c.From != "" {
		return diff.Side{}, false
	}
	return w.env.Tree.BaseSide(path, host)
}

// fewBases is up to how many paths an operation keeps the contents of, for a
// merge with what comes later. Beyond it the fingerprints must do: they tell
// whether a side changed, which is what matters for nearly all.
const fewBases = 256

// rebase is what an operation makes the base of a path.
type rebase struct {
	path string
	host entry.Entry // the host's entry of now
	side *diff.Side  // where it is not simply what the host has now
	now  entry.Print // the print of what the host has now, "" when not known
	// unknown says that what the sides went apart from is not known.
	unknown bool
	// contested says that both sides had changed the path before the operation.
	contested bool
}

// noteBase collects the base of a path whose host entry an operation wrote.
func (w *work) noteBase(path string, host entry.Entry, now entry.Print) {
	if host.Type != entry.File && host.Type != entry.Symlink {
		return
	}
	w.rebased = append(w.rebased, rebase{path: path, host: host, side: w.sides[path], now: now, unknown: w.unknown[path]})
}

// nobodyKnows is the record of a path that both sides changed from an unknown
// version. Without it a block that is accepted or rejected would give one side
// a new time, by which the conflict could not be seen any more.
func nobodyKnows(path string) base.Record {
	return base.Record{Path: path, Host: entry.Entry{Type: entry.File}, Print: base.Unknown}
}

// noteRejected collects the bases of files that both sides had changed: what
// is rejected whole has the host's version, and of blocks the rest stays.
//
// A reject, and its undo, make the sandbox's entries anew, so their times say no
// more which side was first. So what was contested before is noted for the undo,
// and what stays contested beside (opt) for whoever looks next.
func (w *work) noteRejected(items []*item, opt Options) {
	for _, it := range items {
		c := it.change
		if it.trouble != "" || !it.host.Exists() {
			continue
		}
		switch {
		case c.Conflict:
			before := len(w.rebased)
			w.noteBase(basePath(c), it.host, it.hostPrint)
			for i := before; i < len(w.rebased); i++ {
				w.rebased[i].contested = true
			}
		case (c.Base == changes.BaseKnown || w.unknown[c.Path]) && c.From == "":
			w.noteBase(it.path(), it.host, it.hostPrint)
		}
	}
	for _, path := range opt.Contested {
		w.rebased = append(w.rebased, rebase{path: path, unknown: true})
	}
}

// basePath is the path under which the base of a change is recorded.
func basePath(c *changes.Change) string {
	if c.From != "" {
		return c.From
	}
	return c.Path
}

// kept is what an undo of a decision brings back: the record that was there, or,
// of a contested path without one that says so, that nobody knows its base.
func (w *work) kept(path string, contested bool) []byte {
	r, ok := w.env.Tree.Base.Get(path)
	switch {
	case contested && (!ok || r.Print == ""):
		return nobodyKnows(path).Keep()
	case ok:
		return r.Keep()
	}
	return nil
}

// keeperSaw waits for the keeper to have dealt with what the operation did to
// the uppers: what it thinks of that must not come after what we know.
func (w *work) keeperSaw() {
	if w.env.Barrier != nil {
		w.env.Barrier()
	}
}

// keepBases writes to the log what was known before. Of most paths that is
// nothing, and they come many to a line.
func (w *work) keepBases(op *operation) error {
	var fresh []pathText
	for i := range w.rebased {
		path := w.rebased[i].path
		k := keptBase{pathText(path), w.kept(path, w.rebased[i].unknown || w.rebased[i].contested)}
		if k.Kept == nil {
			fresh = append(fresh, k.Path)
			continue
		}
		if err := op.Add(line{Base: &k}); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(fresh, manyFresh) {
		if err := op.Add(line{Fresh: some}); err != nil {
			return err
		}
	}
	return nil
}

// manyFresh is how many paths without a base one line of the log names.
const manyFresh = 512

// putBases writes down the new bases. What is on disk before the operation is
// done is taken back with it.
func (w *work) putBases() error {
	if w.env.Base == "" || len(w.rebased) == 0 {
		return nil
	}
	out, err := base.NewWriter(w.env.Base)
	if err != nil {
		return err
	}
	defer out.Close()
	for i := range w.rebased {
		r, content := w.record(&w.rebased[i])
		if err := out.Put(r, content); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (w *work) record(b *rebase) (base.Record, []byte) {
	if b.unknown {
		return nobodyKnows(b.path), nil
	}
	r := base.Record{Path: b.path, Host: b.host, Print: b.now}
	if b.side != nil {
		if b.side.Type == entry.File {
			r.Print = entry.PrintBytes(b.side.Data)
		}
		if r.Print != b.now || b.side.Mode != b.host.Mode { // the host has more than the base
			r.Host = entry.Entry{Type: b.side.Type, Mode: b.side.Mode, Target: b.side.Target, Size: int64(len(b.side.Data))}
		}
		return r, b.side.Data
	}
	if b.host.Type != entry.File || (len(w.rebased) > fewBases && !strings.HasSuffix(b.path, "/index")) || b.host.Size > base.MaxContent || b.now == "" {
		return r, nil
	}
	at, err := w.host.At(b.path)
	if err != nil {
		return r, nil
	}
	defer at.Close()
	data, _, err := entry.ReadFile(at.Dir, at.Name, base.MaxContent)
	if err != nil || entry.PrintBytes(data) != b.now {
		return r, nil
	}
	return r, data
}

// restoreBases brings back what was known before an operation that was undone.
func (w *work) restoreBases(op *operation) {
	if w.env.Base == "" || len(op.bases) == 0 {
		return
	}
	out, err := base.NewWriter(w.env.Base)
	if err != nil {
		return
	}
	defer out.Close()
	for _, k := range op.bases {
		if out.Restore(string(k.Path), k.Kept) != nil {
			return
		}
	}
	_ = out.Flush()
}

// forgetBases drops the records of paths that the sandbox has no version of any
// more: what it writes there next begins with what the host has then.
func (w *work) forgetBases(sel []Selection) {
	if w.env.Base == "" {
		return
	}
	var out *base.Writer
	for i := range sel {
		path := sel[i].Change.Path
		if _, ok := w.env.Tree.Base.Get(path); !ok {
			continue
		}
		if out == nil {
			var err error
			if out, err = base.NewWriter(w.env.Base); err != nil {
				return
			}
			defer out.Close()
		}
		if out.Forget(path) != nil {
			return
		}
	}
	if out != nil {
		_ = out.Flush()
	}
}
