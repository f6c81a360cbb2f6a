package rplugin

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"sandbox/engine"
	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// review is what one panel shows. A decision on a whole file that was only
// listed, never opened, is bound to the row that was listed.
type review struct {
	dir        string
	all        bool // also what is outside of dir
	ignored    bool // also what ignore rules leave out
	seq        int  // of the newest list
	byPath     map[string]changes.Change
	operations []string // of this editor, oldest first
}

// query asks for what the panel lists.
func (v review) query() engine.Query {
	return engine.Query{Dir: v.dir, All: v.all, Ignored: v.ignored}
}

// reviews holds one review a sandbox.
type reviews struct {
	mu     sync.Mutex
	byName map[string]*review
}

func newReviews() *reviews { return &reviews{byName: map[string]*review{}} }

// with runs f on the review of a sandbox, making one if there is none.
func (r *reviews) with(name string, f func(*review)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName[name] == nil {
		r.byName[name] = &review{}
	}
	f(r.byName[name])
}

// reviewOpen lists the changes of a sandbox and compares the file that is shown:
// {name, dir, all, ignored, show}. It is called for every refresh, too.
func (h *host) reviewOpen(ctx context.Context, r request) (any, error) {
	name, err := r.need("name")
	if err != nil {
		return nil, err
	}
	dir, err := r.need("dir")
	if err != nil {
		return nil, err
	}
	h.watch.add(name)
	h.reviews.with(name, func(v *review) { v.dir, v.all, v.ignored = dir, r.flag("all"), r.flag("ignored") })
	return h.after(ctx, name, r.text("show"), nil)
}

// reviewClose forgets a review: {name}. Its operations stay, a review that is
// opened again can undo them.
func (h *host) reviewClose(_ context.Context, r request) (any, error) {
	name, err := r.need("name")
	if err != nil {
		return nil, err
	}
	h.watch.remove(name)
	h.reviews.with(name, func(v *review) { v.byPath = nil })
	return nil, nil
}

// list asks for the changes and remembers them as what the user sees.
func (h *host) list(ctx context.Context, name, dir string, all bool) (table, error) {
	info, err := h.engine.Info(ctx, name)
	if err != nil {
		return nil, err
	}
	query := review{dir: dir, all: all}.query()
	h.reviews.with(name, func(v *review) { query.Ignored = v.ignored })
	query.Counts = true
	found, err := h.engine.Changes(ctx, name, query)
	if err != nil {
		return nil, err
	}
	byPath := make(map[string]changes.Change, len(found.Matching))
	rows := make([]any, 0, len(found.Matching))
	for _, c := range found.Matching {
		byPath[c.Path] = c
		rows = append(rows, changeTable(c))
	}
	answer := table{
		"name":    name,
		"dir":     dir,
		"all":     all,
		"running": info.Running,
		"files":   rows,
		"outside": found.External,
		"ignored": found.Ignored,
		"why":     found.WhyIgnored(),
	}
	h.reviews.with(name, func(v *review) {
		v.seq++
		v.dir, v.all, v.byPath = dir, all, byPath
		answer["seq"] = v.seq
		answer["operations"] = len(v.operations)
	})
	return answer, nil
}

// maxPatch is how many paths are looked at one by one before a scan of the whole
// sandbox is cheaper.
const maxPatch = 64

// patch brings the list up to date after an operation on a few files, without
// scanning the sandbox: an agent may have built for an hour, and a decision on
// one block must not pay for that. It gives nil when only a scan can tell.
func (h *host) patch(ctx context.Context, name string, done []apply.Row) (table, error) {
	if len(done) > maxPatch {
		return nil, nil
	}
	var listed review
	h.reviews.with(name, func(v *review) { listed = *v })
	info, err := h.engine.Info(ctx, name)
	if err != nil || listed.byPath == nil {
		return nil, err
	}
	now := make(map[string]*changes.Change, len(done))
	for _, row := range done {
		c, ok, err := h.single(ctx, name, listed, row.Path)
		if err != nil || !ok {
			return nil, err
		}
		now[row.Path] = c
	}
	set, gone := []any{}, []string{}
	answer := table{"running": info.Running}
	h.reviews.with(name, func(v *review) {
		for path, c := range now {
			if c == nil {
				delete(v.byPath, path)
				gone = append(gone, path)
				continue
			}
			v.byPath[path] = *c
			set = append(set, changeTable(*c))
		}
		v.seq++
		answer["seq"] = v.seq
	})
	answer["set"], answer["gone"] = set, gone
	return answer, nil
}

// single gives the row of one path, nil when it has none any more. It is not ok
// where other rows may hang on the path: folders, renames, and what is in a
// folder that is new or gone itself.
func (h *host) single(ctx context.Context, name string, listed review, path string) (row *changes.Change, ok bool, err error) {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if _, changed := listed.byPath[dir]; changed {
			return nil, false, nil
		}
	}
	before, was := listed.byPath[path]
	if !was && !listed.all && !strings.HasPrefix(path, strings.TrimSuffix(listed.dir, "/")+"/") {
		return nil, false, nil
	}
	d, err := h.engine.Diff(ctx, name, path)
	if fault.CodeOf(err) == fault.NoMatch {
		return nil, was && plain(before), nil
	}
	if err != nil {
		return nil, false, err
	}
	c := d.Change
	if !plain(c) || (was && !plain(before)) || c.Path != path {
		return nil, false, nil
	}
	c.Added, c.Removed = 0, 0
	for _, hunk := range d.Hunks {
		if hunk.Kind == diff.Binary {
			c.Added, c.Removed = -1, -1
			break
		}
		c.Added, c.Removed = c.Added+hunk.Sandbox[1], c.Removed+hunk.Host[1]
	}
	return &c, true, nil
}

// plain reports whether a change is about one regular file and nothing else.
func plain(c changes.Change) bool {
	for _, t := range []entry.Type{c.Host.Type, c.Sandbox.Type} {
		if t != entry.File && t != entry.None && t != "" {
			return false
		}
	}
	return c.From == "" && c.Kind != changes.Renamed
}

// moved reports whether a row is no longer what was listed.
func moved(listed, now changes.Change) bool {
	if (listed.Git == nil) != (now.Git == nil) || (now.Git != nil && listed.Git.Print != now.Git.Print) {
		return true
	}
	return listed.Kind != now.Kind || listed.From != now.From ||
		listed.Host.Type != now.Host.Type || listed.Host.Ino != now.Host.Ino ||
		listed.Host.CtimeNs != now.Host.CtimeNs || listed.Host.Size != now.Host.Size ||
		listed.Sandbox.Type != now.Sandbox.Type || listed.Sandbox.Ino != now.Sandbox.Ino ||
		listed.Sandbox.CtimeNs != now.Sandbox.CtimeNs || listed.Sandbox.Size != now.Sandbox.Size
}

// bind refuses decisions on rows that were only listed and that moved since:
// nobody looked at what is there now. A decision with prints is checked by the
// engine itself.
func (h *host) bind(ctx context.Context, name string, decisions []engine.Decision) error {
	var blind []string
	for _, d := range decisions {
		if d.Host == "" && d.Sandbox == "" {
			blind = append(blind, d.Path)
		}
	}
	if len(blind) == 0 {
		return nil
	}
	var listed review
	h.reviews.with(name, func(v *review) { listed = *v })
	found, err := h.engine.Changes(ctx, name, listed.query())
	if err != nil {
		return err
	}
	now := make(map[string]changes.Change, len(found.Matching))
	for _, c := range found.Matching {
		now[c.Path] = c
	}
	for _, path := range blind {
		before, was := listed.byPath[path]
		c, is := now[path]
		if !was || !is || moved(before, c) {
			return fault.New(fault.Stale, "decide", path, "it changed since it was listed", "Look at it again, then repeat.")
		}
	}
	return nil
}

// everything makes the decisions of "accept all" from the list that the user
// looks at. Changes that run code by themselves are left out and said so, and
// so is what moved since it was listed.
func (h *host) everything(ctx context.Context, name string, seq int64) ([]engine.Decision, []any, error) {
	var listed review
	h.reviews.with(name, func(v *review) { listed = *v })
	if seq != int64(listed.seq) || listed.byPath == nil {
		return nil, nil, fault.New(fault.Stale, "decide", name, "the list is not the newest", "Look at the list again, then repeat.")
	}
	now, err := h.engine.Changes(ctx, name, listed.query())
	if err != nil {
		return nil, nil, err
	}
	var decisions []engine.Decision
	skipped := []any{}
	for _, c := range now.Matching {
		before, was := listed.byPath[c.Path]
		switch {
		case !was || moved(before, c):
			skipped = append(skipped, table{"path": c.Path, "reason": "changed since it was listed"})
		case c.Git != nil && (!c.Git.New || c.Git.Trouble != ""):
			skipped = append(skipped, table{"path": c.Path, "reason": c.Git.Summary + "; accept it by its own row"})
		case c.Sensitive != nil && c.Sensitive.Level == "hold":
			skipped = append(skipped, table{"path": c.Path, "reason": c.Sensitive.Reason})
		default:
			decisions = append(decisions, engine.Decision{Path: c.Path})
		}
	}
	return decisions, skipped, nil
}
