package apply

import (
	"context"
	"errors"
	"maps"
	"os"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// errOnlyInView says that a reject cannot be done by taking entries out of the
// upper: something would stay that is not the host's, or not all that an entry
// stands for was chosen. The merged view can do it, or says why not.
var errOnlyInView = errors.New("only through the view")

// taker finds the entries of the uppers that stand for what was chosen, whole
// directories where nothing else is in them. The upper is held down: nobody
// writes to it meanwhile.
type taker struct {
	ctx    context.Context
	w      *work
	stops  map[string]bool // where a layer ends
	sel    map[string]*Selection
	from   map[string]bool // old names of what was renamed: deleted there
	unseen map[string]bool // chosen, and no entry was found for it yet
	cover  map[string]bool // what hides more of the host than its own name
}

// takes plans a reject of a sandbox that is held down.
func (w *work) takes(ctx context.Context, sel []Selection) ([]step, error) {
	t := taker{
		ctx: ctx, w: w, stops: map[string]bool{}, sel: make(map[string]*Selection, len(sel)), from: map[string]bool{},
		unseen: make(map[string]bool, len(sel)), cover: map[string]bool{},
	}
	for i := range sel {
		s := &sel[i]
		c := &s.Change
		moved := c.Kind == changes.Renamed && !c.Redirect
		if s.Hunks != nil || t.sel[c.Path] != nil || c.From != "" && !moved {
			return nil, errOnlyInView
		}
		t.sel[c.Path] = s
		t.unseen[c.Path] = true
		if moved {
			t.from[c.From], t.unseen[c.From] = true, true
		}
		if err := t.sameHost(s); err != nil {
			return nil, err
		}
	}
	for _, l := range w.env.Tree.Layers {
		t.stops[l.Host] = true
	}
	for _, m := range append([]string{w.env.Tree.Storage}, w.env.Tree.Masks...) {
		t.stops[m] = true
	}
	var steps []step
	for _, l := range w.env.Tree.Layers {
		of, err := t.layer(l)
		if err != nil {
			return nil, err
		}
		steps = append(steps, of...)
	}
	for path := range t.unseen {
		if !t.covered(path) {
			return nil, errOnlyInView
		}
	}
	return steps, nil
}

// sameHost refuses a decision that was made on another version of the host's.
func (t *taker) sameHost(s *Selection) error {
	c := &s.Change
	path := c.Path
	if c.Kind == changes.Renamed {
		path = c.From
	}
	if s.Host == "" && (c.Kind == changes.Added || c.Host.Type == "") {
		return nil
	}
	now, err := t.w.stat(t.w.host, path)
	if err != nil {
		return errOnlyInView
	}
	if c.Kind != changes.Added && c.Host.Type != "" && moved(c.Host, now) {
		return stale(c.Path, "the host's version")
	}
	if s.Host == "" {
		return nil
	}
	print := entry.PrintNone
	if now.Exists() {
		at, err := t.w.host.At(path)
		if err != nil {
			return errOnlyInView
		}
		defer at.Close()
		if print, err = at.Print(); err != nil {
			return errOnlyInView
		}
	}
	if print != s.Host {
		return stale(c.Path, "the host's version")
	}
	return nil
}

// covered says whether a directory above goes that hides a path.
func (t *taker) covered(path string) bool {
	for dir := parent(path); dir != "/"; dir = parent(dir) {
		if t.cover[dir] {
			return true
		}
	}
	return false
}

func (t *taker) layer(l changes.Layer) ([]step, error) {
	up, err := t.w.upper.root.At("/" + l.Upper)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer up.Close()
	e, err := up.Stat()
	if err != nil || !e.Exists() {
		return nil, err
	}
	if t.w.upper.attr(up, "opaque") != "" {
		return nil, errOnlyInView
	}
	all, err := t.inside(up, l.Host, nil)
	if err == nil && all.stuck {
		err = errOnlyInView
	}
	return all.steps, err
}

// found is what a directory holds of what was chosen.
type found struct {
	steps []step
	whole bool // and it holds nothing else
	stuck bool // a step takes something out of a directory that its owner may not write
	// apart is what there is of a directory that may also go in parts.
	apart *found
}

// inside looks at all that is in a directory of the upper. hidden collects the
// paths of the sandbox below one that hides the host's directory.
func (t *taker) inside(dir rootfs.At, path string, hidden map[string]bool) (found, error) {
	all := found{whole: true}
	if err := t.ctx.Err(); err != nil {
		return all, fault.Wrap(fault.Failed, "prepare", path, err)
	}
	names, err := dir.Names()
	if err != nil {
		return all, errOnlyInView
	}
	in, err := dir.Enter()
	if err != nil {
		return all, errOnlyInView
	}
	defer in.Close()
	shut, err := isShut(dir)
	if err != nil {
		return all, errOnlyInView
	}
	for _, name := range names {
		p := join(path, name)
		if t.stops[p] || entry.IsRenameTemp(name) || rootfs.IsTemp(name) {
			all.whole = false
			continue
		}
		at := in.Sibling(name)
		e, err := at.Stat()
		if err != nil {
			return all, errOnlyInView
		}
		var one found
		switch {
		case !e.Exists():
			one.whole = true
		case e.Whiteout():
			one, err = t.whiteout(p, e, hidden)
		case e.Type == entry.Dir:
			one, err = t.directory(at, p, e, hidden)
		default:
			one, err = t.file(at, p, e, hidden)
		}
		if err != nil {
			return all, err
		}
		all.whole = all.whole && one.whole
		switch {
		case !shut || !one.whole || len(one.steps) == 0:
		case one.apart != nil:
			one = *one.apart
		default:
			one.stuck = true
		}
		all.steps = append(all.steps, one.steps...)
		all.stuck = all.stuck || one.stuck
	}
	return all, nil
}

// isShut says that only the view can take something out of a directory: the
// sandbox's first process has more rights than its user.
func isShut(dir rootfs.At) (bool, error) {
	const enter = 0o300
	e, err := dir.Stat()
	return os.Geteuid() != 0 && e.Mode&enter != enter, err
}

// take is the step that takes one entry away.
func (t *taker) take(path string, e entry.Entry) found {
	delete(t.unseen, path)
	return found{whole: true, steps: []step{{
		Do: doRemove, Path: pathText(path), Type: e.Type, Was: nodeOf(e), WasMode: e.Mode, size: e.Size, mtime: e.MtimeNs,
	}}}
}

func (t *taker) whiteout(path string, e entry.Entry, hidden map[string]bool) (found, error) {
	s := t.sel[path]
	if s != nil && s.Change.Kind != changes.Deleted {
		return found{}, stale(path, "the sandbox's version")
	}
	host, err := t.w.stat(t.w.host, path)
	switch {
	case err != nil:
		return found{}, errOnlyInView
	case hidden != nil || !host.Exists(): // it says nothing
		return found{whole: true}, nil
	case s == nil && !t.from[path]:
		return found{}, nil
	case s != nil && s.Sandbox != "" && s.Sandbox != entry.PrintNone:
		return found{}, stale(path, "the sandbox's version")
	case host.Type == entry.Dir:
		if err := t.hides(path, nil); err != nil {
			return found{}, err
		}
	}
	return t.take(path, e), nil
}

// hides notes that all that the host has below a path is seen again, when all
// of it was chosen, or the sandbox has it too.
func (t *taker) hides(path string, has map[string]bool) error {
	at, err := t.w.host.At(path)
	if err != nil {
		return errOnlyInView
	}
	defer at.Close()
	all := map[string]entry.Entry{}
	if err := listTree(at, path, all); err != nil {
		return errOnlyInView
	}
	for p := range all {
		if t.sel[p] == nil && !t.from[p] && !has[p] {
			return errOnlyInView
		}
	}
	t.cover[path] = true
	return nil
}

func (t *taker) file(at rootfs.At, path string, e entry.Entry, hidden map[string]bool) (found, error) {
	if hidden != nil {
		hidden[path] = true
	}
	s := t.sel[path]
	if s == nil {
		if t.from[path] {
			return found{}, errOnlyInView
		}
		return found{whole: hidden != nil && t.equalsHost(at, path, e)}, nil
	}
	if err := isChosen(s, at, e); err != nil {
		return found{}, err
	}
	if s.Change.Kind == changes.TypeChanged && s.Change.Host.Type == entry.Dir {
		if err := t.hides(path, nil); err != nil {
			return found{}, err
		}
	}
	return t.take(path, e), nil
}

// isChosen says whether an entry of the upper is what the decision was made on.
// Where that named no content it is what the scan saw.
func isChosen(s *Selection, at rootfs.At, e entry.Entry) error {
	saw := s.Change.Sandbox
	same := s.Change.Kind != changes.Deleted
	if saw.Type != "" {
		same = same && saw.Type == e.Type && saw.Ino == e.Ino && saw.Dev == e.Dev
		if e.Type != entry.Dir {
			same = same && saw.Size == e.Size && saw.MtimeNs == e.MtimeNs
		}
	}
	if same && s.Sandbox != "" {
		print, err := at.Print()
		if err != nil {
			return errOnlyInView
		}
		same = print == s.Sandbox
	}
	if !same {
		return stale(s.Change.Path, "the sandbox's version")
	}
	return nil
}

func (t *taker) equalsHost(at rootfs.At, path string, e entry.Entry) bool {
	host, err := t.w.host.At(path)
	if err != nil {
		return false
	}
	defer host.Close()
	h, err := host.Stat()
	if err != nil || h.Type != e.Type {
		return false
	}
	same, err := equalEntry(at, e, host, h)
	return err == nil && same
}

func (t *taker) directory(at rootfs.At, path string, e entry.Entry, hidden map[string]bool) (found, error) {
	opaque := t.w.upper.attr(at, "opaque")
	if t.w.upper.attr(at, "redirect") != "" || opaque != "" && opaque != "y" || t.sel[path] == nil && t.from[path] {
		return found{}, errOnlyInView
	}
	s := t.sel[path]
	if s != nil {
		if err := isChosen(s, at, e); err != nil {
			return found{}, err
		}
	}
	host, err := t.w.stat(t.w.host, path)
	if err != nil {
		return found{}, errOnlyInView
	}
	covers := opaque == "y" && host.Type == entry.Dir && hidden == nil
	below := hidden
	if covers {
		below = map[string]bool{}
	}
	in, err := t.inside(at, path, below)
	if err != nil {
		return in, err
	}
	if hidden != nil {
		hidden[path] = true
	}
	// What has no row is equal to the host's, but for what the start of a sandbox makes.
	plain := host.Type == entry.Dir && host.Mode == e.Mode && host.UID == e.UID && host.GID == e.GID
	whole := in.whole && (s != nil || plain)
	switch {
	case covers && !whole:
		if s != nil || len(in.steps) > 0 || t.anyBelow(path) {
			return found{}, errOnlyInView
		}
		return found{}, nil
	case covers:
		if err := t.hides(path, below); err != nil {
			if s != nil || len(in.steps) > 0 || t.anyBelow(path) {
				return found{}, err
			}
			return found{}, nil
		}
	case s != nil && !whole:
		return found{}, errOnlyInView
	case !whole:
		return found{steps: in.steps, stuck: in.stuck}, nil
	case s == nil && len(in.steps) == 0: // nothing of it was chosen
		return found{whole: true}, nil
	}
	if covers && s == nil && len(in.steps) == 0 && !t.anyBelow(path) {
		return found{}, nil
	}
	taken := t.take(path, e)
	if s == nil && !covers {
		taken.apart = &found{steps: in.steps, stuck: in.stuck}
	}
	return taken, nil
}

// anyBelow says whether something was chosen below a path.
func (t *taker) anyBelow(path string) bool {
	for p := range maps.Keys(t.sel) {
		if below(p, path) {
			return true
		}
	}
	return false
}
