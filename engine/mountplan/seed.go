package mountplan

import "strings"

// userSeeds are the places where a user namespace spoils what works outside,
// because the owner of a file is not mapped: a world-writable directory of
// root's cannot be written (EOVERFLOW at copy-up), and ssh refuses
// configuration that belongs to nobody.
func userSeeds(host Host, p Plan) []Seed {
	var out []Seed
	for _, c := range []Seed{
		{Path: "/var/tmp", Mode: 0o1777},
		{Path: "/etc/ssh/ssh_config.d", Mode: 0o755, Copy: true},
	} {
		if _, inLeaf := p.LeafOf(c.Path); !inLeaf {
			continue
		}
		if st, err := host.Lstat(c.Path); err == nil && st.Type == Dir {
			out = append(out, c)
		}
	}
	return out
}

// LeafOf returns the overlay that a path of the view lies in (strictly below
// its root), the deepest one.
func (p Plan) LeafOf(path string) (leaf string, ok bool) {
	for _, it := range p.Items {
		if it.Kind == Overlay && Below(path, it.Path) && len(it.Path) >= len(leaf) {
			leaf, ok = it.Path, true
		}
	}
	return leaf, ok
}

// Below reports whether path lies strictly below dir.
func Below(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") && path != dir
}

// Hide takes a directory and all below it out of the view: by a whiteout in
// the seed layer where it lies in an overlay, by leaving it out of the
// skeleton elsewhere.
func (p *Plan) Hide(path string) {
	kept := p.Items[:0]
	for _, it := range p.Items {
		if it.Path != path && !Below(it.Path, path) {
			kept = append(kept, it)
		}
	}
	p.Items = kept
	if _, ok := p.LeafOf(path); ok {
		p.Seeds = append(p.Seeds, Seed{Path: path, Hidden: true})
	}
}
