package changes

import (
	"bytes"
	"cmp"
	"context"
	"hash/maphash"
	"path"
	"slices"

	"sandbox/engine/diff"
	"sandbox/engine/entry"
)

// Limits of the search for renames. Above them a moved file is listed as one
// deleted and one added, which is true as well.
const (
	hashBudget     = 1 << 30 // bytes hashed to find identical files
	similarLimit   = 1 << 20 // size of the largest file compared by lines
	similarBudget  = 64 << 20
	similarPairs   = 40_000 // pairs estimated by their line sets
	similarChecks  = 500    // pairs compared in full
	similarEnough  = 0.5
	similarMinimum = 1.0 / 3 // 2·small/(small+large) is at most 0.5 below this ratio
)

// findRenames joins a deleted and an added file of the same content, or of
// similar text, into one renamed row: overlayfs itself records a rename of a
// file as a deletion and a new file.
func findRenames(ctx context.Context, set *Set) error {
	r := renames{set: set, taken: make([]bool, len(set.Changes))}
	for i := range set.Changes {
		c := &set.Changes[i]
		switch {
		case c.Kind == Deleted && c.From == "" && movable(c.Host):
			r.old = append(r.old, i)
		case c.Kind == Added && movable(c.Sandbox):
			r.new = append(r.new, i)
		}
	}
	if err := r.identical(ctx); err != nil {
		return err
	}
	if err := r.similar(ctx); err != nil {
		return err
	}
	r.drop()
	return nil
}

// movable leaves out empty files: all of them are alike.
func movable(e entry.Entry) bool {
	return (e.Type == entry.File || e.Type == entry.Symlink) && e.Size > 0
}

type renames struct {
	set      *Set
	old, new []int  // rows still without a partner
	taken    []bool // deleted rows that became the From of another
}

func (r *renames) row(i int) *Change { return &r.set.Changes[i] }

func (r *renames) join(old, renamed int) {
	from, c := r.row(old), r.row(renamed)
	c.Kind, c.From, c.Host = Renamed, from.Path, from.Host
	c.Conflict = c.Conflict || from.Conflict
	c.Base = from.Base
	r.taken[old] = true
}

// unpaired removes what has found a partner from the lists.
func (r *renames) unpaired() {
	r.old = slices.DeleteFunc(r.old, func(i int) bool { return r.taken[i] })
	r.new = slices.DeleteFunc(r.new, func(i int) bool { return r.row(i).Kind == Renamed })
}

// drop removes the deleted rows that are part of a renamed one.
func (r *renames) drop() {
	i := 0
	r.set.Changes = slices.DeleteFunc(r.set.Changes, func(Change) bool {
		i++
		return r.taken[i-1]
	})
}

type typeAndSize struct {
	kind entry.Type
	size int64
}

// identical pairs files with the same bytes: those of the same base name
// first, then any.
func (r *renames) identical(ctx context.Context) error {
	sizes := make(map[typeAndSize]int, len(r.old))
	for _, i := range r.old {
		sizes[typeAndSize{r.row(i).Host.Type, r.row(i).Host.Size}] |= 1
	}
	for _, i := range r.new {
		sizes[typeAndSize{r.row(i).Sandbox.Type, r.row(i).Sandbox.Size}] |= 2
	}
	var todo []int
	left := int64(hashBudget)
	for _, list := range [][]int{r.old, r.new} {
		for _, i := range list {
			e := r.row(i).Host
			if r.row(i).Kind == Added {
				e = r.row(i).Sandbox
			}
			if sizes[typeAndSize{e.Type, e.Size}] == 3 && e.Size <= left {
				left -= e.Size
				todo = append(todo, i)
			}
		}
	}
	prints := make([]entry.Print, len(r.set.Changes))
	err := parallel(ctx, r.set.tree, len(todo), func(f *files, n int) error {
		p, err := f.print(r.row(todo[n]))
		if err == nil {
			prints[todo[n]] = p
		}
		return fatal(err)
	})
	if err != nil {
		return err
	}
	r.alongDirectories(prints)
	for _, key := range []func(i int) string{
		func(i int) string { return string(prints[i]) + "/" + path.Base(r.row(i).Path) },
		func(i int) string { return string(prints[i]) },
	} {
		waiting := make(map[string][]int)
		for _, i := range r.old {
			if prints[i] != "" {
				waiting[key(i)] = append(waiting[key(i)], i)
			}
		}
		for _, i := range r.new {
			k := key(i)
			if prints[i] == "" || len(waiting[k]) == 0 {
				continue
			}
			r.join(waiting[k][0], i)
			waiting[k] = waiting[k][1:]
		}
		r.unpaired()
	}
	return nil
}

// print hashes the one side that a deleted or added row has.
func (f *files) print(c *Change) (entry.Print, error) {
	side, p := f.upperSide, c.Upper
	if c.Kind == Deleted {
		side, p = f.hostSide, c.Path
	}
	dirfd, name, err := side(p)
	if err != nil {
		return "", err
	}
	return entry.PrintOf(dirfd, name)
}

// text is a file with the hashes of its lines.
type text struct {
	row   int
	base  string
	data  []byte
	lines map[uint64]int // bytes that the line gives, times its count
}

type pair struct {
	old, new *text
	score    float64
	sameBase bool
}

// similar pairs texts of which at least half is the same. An estimate from
// the sets of lines, which is never below the truth, picks the few pairs that
// are compared in full.
func (r *renames) similar(ctx context.Context) error {
	if len(r.old) == 0 || len(r.new) == 0 {
		return nil
	}
	onlySameBase := len(r.old)*len(r.new) > similarPairs
	if onlySameBase {
		r.keepCommonNames()
	}
	left := int64(similarBudget)
	olds, err := r.texts(ctx, r.old, &left)
	if err != nil || len(olds) == 0 {
		return err
	}
	news, err := r.texts(ctx, r.new, &left)
	if err != nil {
		return err
	}
	var pairs []pair
	estimates := 0
	for _, o := range olds {
		for _, n := range news {
			p := pair{old: o, new: n, sameBase: o.base == n.base}
			if (onlySameBase && !p.sameBase) || !sizesCanMatch(len(o.data), len(n.data)) {
				continue
			}
			if estimates++; estimates > similarPairs {
				break
			}
			if p.score = estimate(o, n); p.score >= similarEnough {
				pairs = append(pairs, p)
			}
		}
	}
	slices.SortStableFunc(pairs, comparePairs)
	pairs = pairs[:min(len(pairs), similarChecks)]
	for i := range pairs {
		if err := ctx.Err(); err != nil {
			return err
		}
		pairs[i].score = diff.Similarity(pairs[i].old.data, pairs[i].new.data)
	}
	slices.SortStableFunc(pairs, comparePairs)
	for _, p := range pairs {
		if p.score < similarEnough || r.taken[p.old.row] || r.row(p.new.row).Kind == Renamed {
			continue
		}
		r.join(p.old.row, p.new.row)
	}
	r.unpaired()
	return nil
}

// comparePairs puts the best pair first: a clearly higher score, then the same
// base name.
func comparePairs(a, b pair) int {
	boost := func(p pair) float64 {
		if p.sameBase {
			return p.score + 0.1
		}
		return p.score
	}
	return cmp.Compare(boost(b), boost(a))
}

func (r *renames) keepCommonNames() {
	names := make(map[string]int)
	for _, i := range r.old {
		names[path.Base(r.row(i).Path)] |= 1
	}
	for _, i := range r.new {
		names[path.Base(r.row(i).Path)] |= 2
	}
	common := func(i int) bool { return names[path.Base(r.row(i).Path)] != 3 }
	r.old = slices.DeleteFunc(r.old, common)
	r.new = slices.DeleteFunc(r.new, common)
}

func sizesCanMatch(a, b int) bool {
	return float64(min(a, b)) >= similarMinimum*float64(max(a, b))
}

// texts reads the candidates that are text, as far as the budget goes.
func (r *renames) texts(ctx context.Context, rows []int, left *int64) ([]*text, error) {
	f := newFiles(r.set.tree)
	defer f.close()
	var out []*text
	for _, i := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := r.row(i)
		e, side, p := c.Sandbox, f.upperSide, c.Upper
		if c.Kind == Deleted {
			e, side, p = c.Host, f.hostSide, c.Path
		}
		if e.Type != entry.File || e.Size > similarLimit || e.Size > *left {
			continue
		}
		dirfd, name, err := side(p)
		var data []byte
		if err == nil {
			data, _, err = entry.ReadFile(dirfd, name, similarLimit)
		}
		if fatal(err) != nil {
			return nil, err
		}
		if err != nil {
			continue
		}
		*left -= int64(len(data))
		if ok, _ := diff.IsText(data); ok {
			out = append(out, &text{row: i, base: path.Base(c.Path), data: data, lines: lineSet(data)})
		}
	}
	return out, nil
}

var lineSeed = maphash.MakeSeed()

func lineSet(data []byte) map[uint64]int {
	set := make(map[uint64]int)
	for line := range bytes.Lines(data) {
		set[maphash.Bytes(lineSeed, bytes.TrimRight(line, "\r\n"))] += len(line)
	}
	return set
}

// estimate is the share of bytes in lines that both have, in any order.
func estimate(a, b *text) float64 {
	small, large := a.lines, b.lines
	if len(small) > len(large) {
		small, large = large, small
	}
	common := 0
	for h, n := range small {
		common += min(n, large[h])
	}
	return 2 * float64(common) / float64(len(a.data)+len(b.data))
}
