package apply

import (
	"slices"
	"strings"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/gitdir"
	"sandbox/engine/rootfs"
)

// units are the selections that belong to wholes, by path.
type units map[string]*Selection

func inUnits(sel []Selection) units {
	var u units
	for i := range sel {
		if sel[i].Unit == nil {
			continue
		}
		if u == nil {
			u = units{}
		}
		u[sel[i].Change.Path] = &sel[i]
	}
	return u
}

// order puts the steps in the order of their ranks. What belongs to no whole
// comes first, as it was.
func (u units) order(steps []step) {
	if u == nil {
		return
	}
	for i := range steps {
		if s := u[string(steps[i].Path)]; s != nil {
			steps[i].rank = s.Rank
			steps[i].index = steps[i].Do == doMake && steps[i].Type == entry.File && strings.HasSuffix(s.Change.Path, "/index")
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.rank - b.rank })
}

// rows puts the row of a whole in the place of all of its own.
func (u units) rows(done []Row) []Row {
	if u == nil {
		return done
	}
	seen := map[string]bool{}
	var out []Row
	for _, r := range done {
		if s := u[r.Path]; s != nil {
			r = *s.Unit
			if seen[r.Path] {
				continue
			}
			seen[r.Path] = true
		}
		out = append(out, r)
	}
	return out
}

// complete refuses a plan that leaves a part of a whole out, and not only an
// attribute of it.
func (u units) complete(skipped []Skip) error {
	for _, s := range skipped {
		part := u[s.Path]
		if part == nil || strings.HasSuffix(s.Reason, " was left out") || strings.HasSuffix(s.Reason, " were left out") {
			continue
		}
		return fault.New(fault.Conflict, "accept", part.Unit.Path, "it is taken as a whole, and one of its files cannot be: "+s.Path+": "+s.Reason,
			"Nothing was written.")
	}
	return nil
}

// stagedAt is what the index at a place stages, "" for what is none.
func stagedAt(at rootfs.At) string {
	data, _, err := entry.ReadFile(at.Dir, at.Name, gitdir.MaxIndex)
	if err != nil {
		return ""
	}
	return gitdir.Staged(data)
}

// refreshed is an index that a step made and that git has written anew since:
// every look at a repository does, to remember the times of its files.
type refreshed struct {
	step  *step
	node  node
	print entry.Print
}

// adopt takes such indexes for what the steps made, before they are taken back.
func (op *operation) adopt(list []refreshed) error {
	for _, f := range list {
		for i := range op.steps {
			if &op.steps[i] != f.step {
				continue
			}
			m := made{Step: i, Node: f.node, After: f.print}
			if err := op.Add(line{Made: &m}); err != nil {
				return err
			}
			op.steps[i].take(&m)
		}
	}
	return nil
}

// fixed says that the content must be what the scan saw, because other parts
// of the whole were chosen by it. Parts of a low rank have names that vouch
// for their content.
func (s *Selection) fixed() bool { return s.Unit != nil && s.Rank > 3 }
