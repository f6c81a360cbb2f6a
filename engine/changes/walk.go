package changes

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// dir is one directory of the merged view that is to be walked. Its
// descriptors are closed by walk.
type dir struct {
	layer     *Layer
	path      string // in the sandbox
	host      string // where the host has its lower content; "" when it has none
	upperPath string // absolute; "" when upper is -1

	upper  int // open for reading; -1: the sandbox has no such directory
	lower  int // the host's directory; -1: none. Open for reading when hidden, else O_PATH
	shadow int // a host directory at path that a redirect hides; -1: none

	// changed is the upper directory itself.
	changed entry.Entry
	// hidden says that the sandbox sees nothing of lower, so every name that
	// upper has not is deleted: below an opaque directory or a deleted one.
	hidden bool
	// xwhite says that empty files may be whiteouts.
	xwhite bool
	// gone is how and when what it hides was deleted.
	gone deletion
	// accepted is when this directory, or one above it that hides, was taken to
	// the host; 0 when it was not.
	accepted int64
	marks    marks // of the upper directory
	depth    int
}

func (d *dir) close() {
	for _, fd := range []int{d.upper, d.lower, d.shadow} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// from is the From of a change below d: set only where the host has the
// content under another name.
func (d *dir) from(name string) string {
	if d.host == "" || d.host == d.path {
		return ""
	}
	return join(d.host, name)
}

func (d *dir) hostChild(name string) string {
	if d.host == "" {
		return ""
	}
	return join(d.host, name)
}

// paths gives the two paths of an entry of the upper directory. Where the upper
// mirrors the host's paths they share memory: a row is kept for every change.
func (d *dir) paths(name string) (path, upper string) {
	upper = join(d.upperPath, name)
	if d.path != "/" && strings.HasSuffix(d.upperPath, d.path) {
		return upper[len(d.upperPath)-len(d.path):], upper
	}
	return join(d.path, name), upper
}

// step collects what one directory gives.
type step struct {
	s    *scan
	d    *dir
	rows []Change
}

// walk compares one directory and hands on the ones below it.
func (s *scan) walk(d dir) {
	defer d.close()
	if s.stopped() {
		return
	}
	if d.depth > maxDepth {
		s.cannotRead(d.path, unix.ENAMETOOLONG)
		return
	}
	if s.path != "" && s.path == d.path {
		return // a walk for one path does not go below it
	}
	st := step{s: s, d: &d}
	seen := st.upperNames()
	if d.hidden && d.lower >= 0 {
		st.hiddenNames(seen)
	}
	if d.shadow >= 0 {
		st.shadowNames(seen)
	}
	s.add(d.path, st.rows)
}

// upperNames compares every entry of the upper directory and returns the names
// that the sandbox has there (whiteouts are none), when somebody needs them.
func (st *step) upperNames() map[string]bool {
	d := st.d
	if d.upper < 0 {
		return nil
	}
	names, err := st.s.names(d.upper, d.path)
	if err != nil {
		st.s.cannotRead(d.path, err) // and go on with the names that came
	}
	var seen map[string]bool
	if d.hidden || d.shadow >= 0 {
		seen = make(map[string]bool, len(names))
	}
	stops := st.s.stopsIn(d.path)
	for _, n := range names {
		if (stops && st.s.stops[join(d.path, n.Name)]) || entry.IsRenameTemp(n.Name) {
			if seen != nil {
				seen[n.Name] = true
			}
			continue
		}
		there := st.one(n.Name)
		if seen != nil {
			seen[n.Name] = there
		}
	}
	return seen
}

// hiddenNames lists what the host has and the sandbox does not see.
func (st *step) hiddenNames(seen map[string]bool) {
	d := st.d
	names, err := st.s.names(d.lower, d.path)
	if err != nil {
		st.s.cannotRead(d.path, err)
	}
	for _, n := range names {
		if seen[n.Name] || st.s.stops[join(d.path, n.Name)] || st.s.stops[d.hostChild(n.Name)] {
			continue
		}
		lo, err := entry.At(d.lower, n.Name)
		if err != nil {
			st.s.cannotRead(join(d.path, n.Name), err)
			continue
		}
		if !lo.Exists() || (d.accepted > 0 && lo.BtimeNs > d.accepted) {
			continue // the host made it after this directory was accepted
		}
		st.deleted(d.lower, n.Name, d.from(n.Name), lo, "", d.gone)
	}
}

// shadowNames lists what a renamed directory covers at its new place. A name
// that the renamed directory has too is not listed: it is replaced with it.
func (st *step) shadowNames(seen map[string]bool) {
	d := st.d
	names, err := st.s.names(d.shadow, d.path)
	if err != nil {
		st.s.cannotRead(d.path, err)
	}
	for _, n := range names {
		there, inUpper := seen[n.Name]
		if there || st.s.stops[join(d.path, n.Name)] {
			continue
		}
		if !inUpper && d.lower >= 0 {
			if lo, err := entry.At(d.lower, n.Name); err != nil || lo.Exists() {
				continue
			}
		}
		lo, err := entry.At(d.shadow, n.Name)
		if err != nil || !lo.Exists() {
			continue
		}
		st.deleted(d.shadow, n.Name, "", lo, "", deletion{since: d.changed.CtimeNs})
	}
}

// one compares the upper entry name and reports whether the sandbox has it.
func (st *step) one(name string) bool {
	d := st.d
	up, err := entry.At(d.upper, name)
	if err != nil || !up.Exists() {
		if err != nil {
			st.s.cannotRead(join(d.path, name), err)
		}
		return false
	}
	lo := entry.Entry{Type: entry.None}
	if d.lower >= 0 {
		if lo, err = entry.At(d.lower, name); err != nil {
			st.s.cannotRead(join(d.path, name), err)
			return true
		}
	}
	switch {
	case up.Whiteout(), d.xwhite && st.xattrWhiteout(name, up):
		// In a directory that hides the lower one it means nothing, and so it
		// does where the host has nothing (any more).
		if lo.Exists() && !d.hidden {
			gone := deletion{since: whiteoutSince(up), marks: d.marks}
			if r, ok := st.s.tree.Base.Get(d.hostChild(name)); ok && r.Deleted {
				gone.since = max(gone.since, r.SinceNs)
			}
			st.deleted(d.lower, name, d.from(name), lo, join(d.upperPath, name), gone)
		}
		return false
	case up.Type == entry.Dir:
		st.directory(name, up, lo)
	default:
		st.file(name, up, lo)
	}
	return true
}

func (st *step) xattrWhiteout(name string, up entry.Entry) bool {
	if up.Type != entry.File || up.Size != 0 {
		return false
	}
	var b [1]byte
	_, err := unix.Lgetxattr(fdPath(st.d.upper, name), st.s.tree.Xattr+"whiteout", b[:])
	return err == nil || err == unix.ERANGE
}

// deleted adds a row, and for a directory all that the host has below it.
func (st *step) deleted(lower int, name, from string, lo entry.Entry, upperPath string, gone deletion) {
	d := st.d
	c := Change{
		Path: join(d.path, name), From: from, Kind: Deleted, Upper: upperPath,
		Host: lo, Sandbox: entry.Entry{Type: entry.None}, Added: -1, Removed: -1,
	}
	st.judgeDeleted(&c, lower, name, gone)
	st.rows = append(st.rows, c)
	if lo.Type == entry.Dir {
		st.below(lower, name, from, gone)
	}
}

// below walks a host directory of which the sandbox sees nothing.
func (st *step) below(lower int, name, from string, gone deletion) {
	d := st.d
	path := join(d.path, name)
	fd, err := entry.OpenDirAt(lower, name)
	if err != nil {
		st.s.cannotRead(path, err)
		return
	}
	host := path
	if from != "" {
		host = from
	}
	st.s.submit(dir{
		layer: d.layer, path: path, host: host, upper: -1, lower: fd, shadow: -1,
		hidden: true, gone: gone, depth: d.depth + 1,
	})
}

// file compares an upper entry that is no directory.
func (st *step) file(name string, up, lo entry.Entry) {
	d := st.d
	c := Change{
		Host: lo, Sandbox: up, Added: -1, Removed: -1,
	}
	c.Path, c.Upper = d.paths(name)
	if lo.Exists() {
		c.From = d.from(name)
	}
	switch {
	case !lo.Exists():
		c.Kind = Added
		if st.settled(&c, name) {
			return
		}
	case lo.Type != up.Type:
		c.Kind = TypeChanged
		if lo.Type == entry.Dir {
			st.below(d.lower, name, c.From, deletion{bornAt(up), d.marks})
		} else if st.settled(&c, name) {
			return
		}
	default:
		same, err := sameContent(st.s.ctx, d.upper, up, name, d.lower, lo, name)
		if err != nil {
			st.s.fail(err)
			return
		}
		switch {
		case !same:
			c.Kind = Modified
			if st.settled(&c, name) {
				return
			}
		case st.s.sameAttributes(d, name, up, lo), st.onlyTheHosts(&c, name):
			return
		default:
			c.Kind = Attributes
			c.Base = BaseSame
		}
	}
	st.rows = append(st.rows, c)
}

// settled notes what the base says about a change, and reports whether it is
// none of the sandbox's.
func (st *step) settled(c *Change, name string) bool {
	v := st.judge(c, name)
	c.Base, c.Conflict = v.base, v.conflict
	return v.untouched
}

// directory compares an upper directory with what the host has, and goes into it.
func (st *step) directory(name string, up, lo entry.Entry) {
	d, s := st.d, st.s
	c := Change{
		Host: lo, Sandbox: up, Added: -1, Removed: -1,
	}
	c.Path, c.Upper = d.paths(name)
	path := c.Path
	if lo.Exists() {
		c.From = d.from(name)
	}
	sub := dir{
		layer: d.layer, path: path, host: "", upperPath: c.Upper,
		upper: -1, lower: -1, shadow: -1, changed: up,
		hidden: d.hidden, gone: d.gone, accepted: d.accepted, depth: d.depth + 1,
	}
	fd, err := entry.OpenDirAt(d.upper, name)
	var attrs dirAttrs
	if err == nil {
		sub.upper = fd
		attrs, err = readDirAttrs(fd, s.tree.Xattr)
	}
	if err != nil {
		s.cannotRead(path, err) // the row itself needs no more than the stat
	}

	switch {
	case attrs.redirect != "" && st.redirected(&c, &sub, attrs.redirect, name, lo):
		// row and lower directory are set
	case !lo.Exists():
		c.Kind = Added
	case lo.Type != entry.Dir:
		c.Kind = TypeChanged
		st.settled(&c, name)
	default:
		if attrs.opaque {
			s.sawOpaque.Store(true)
		}
		if sub.hidden && !attrs.opaque && attrs.redirect != "" && d.leadsTo(attrs.redirect, path) {
			// It was moved away and back while its parent was made again: the
			// sandbox sees the host's directory of that name.
			sub.hidden, sub.gone, sub.accepted = false, deletion{}, 0
		}
		if attrs.opaque && !sub.hidden {
			sub.hidden, sub.gone = true, deletion{since: bornAt(up), marks: d.marks}
		}
		if sub.hidden {
			sub.gone.marks = slices.Concat(sub.gone.marks, attrs.marks)
			sub.accepted = max(sub.accepted, attrs.marks.last())
		}
		c.Opaque = sub.hidden
		sub.host = d.hostChild(name)
		sub.lower = s.openLower(d.lower, name, path, sub.hidden)
		if !s.tree.seeded(up, lo) && (up.Mode != lo.Mode || !s.tree.sameOwner(up, lo) || (err == nil && !s.sameDirXattrs(d, name, attrs))) {
			c.Kind = Attributes
		}
	}
	sub.xwhite, sub.marks = attrs.xwhite, attrs.marks
	if c.Kind != "" {
		st.rows = append(st.rows, c)
	}
	if sub.upper < 0 {
		sub.close()
		return
	}
	s.submit(sub)
}

// leadsTo says whether a redirect in d leads to a path of the host.
func (d *dir) leadsTo(redirect, path string) bool {
	from, ok := redirectTarget(redirect, d.layer.Host, d.host)
	return ok && from == path
}

// openLower opens a host directory beside its upper one: for reading where its
// names are needed, else only to look up names in it.
func (s *scan) openLower(lower int, name, path string, list bool) int {
	flags := unix.O_PATH | unix.O_DIRECTORY
	if list {
		flags = unix.O_RDONLY | unix.O_DIRECTORY
	}
	fd, err := entry.OpenBeneath(lower, name, flags)
	if err != nil {
		s.cannotRead(path, err)
		return -1
	}
	return fd
}

// redirected handles a directory that the kernel renamed. It reports false
// when the redirect leads nowhere: the host renamed it too (an accept that was
// cut off), or it was not written by the kernel.
func (st *step) redirected(c *Change, sub *dir, redirect, name string, lo entry.Entry) bool {
	d, s := st.d, st.s
	from, ok := redirectTarget(redirect, d.layer.Host, d.host)
	if !ok || from == c.Path || s.foreign(from, *d.layer) {
		return false
	}
	parent, base, err := entry.OpenParent(s.root, from)
	if err != nil {
		return false
	}
	defer unix.Close(parent)
	old, err := entry.At(parent, base)
	if err != nil || old.Type != entry.Dir {
		return false
	}
	c.Kind, c.From, c.Redirect, c.Host = Renamed, from, true, old
	sub.host, sub.hidden, sub.gone, sub.accepted = from, false, deletion{}, 0
	sub.lower = s.openLower(parent, base, c.Path, false)
	if lo.Type == entry.Dir && !d.hidden && d.hostChild(name) != from {
		c.Opaque = true
		sub.shadow = s.openLower(d.lower, name, c.Path, true)
	}
	s.mu.Lock()
	s.redirects = append(s.redirects, moved{from: from, to: c.Path})
	s.mu.Unlock()
	return true
}

// foreign reports whether a host path is none of this layer's: outside of it,
// in another layer, or masked.
func (s *scan) foreign(path string, l Layer) bool {
	owner, ok := s.tree.LayerOf(path)
	return !ok || owner.Host != l.Host || s.tree.Masked(path)
}
