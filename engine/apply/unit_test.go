package apply

import (
	"testing"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// What belongs to a whole is done in the order of the ranks, after all else, is
// one row, and is not done in part.
func TestWholes(t *testing.T) {
	row := &Row{Path: "/p/.git", Kind: changes.Modified}
	part := func(path string, rank int) Selection {
		return Selection{Change: changes.Change{Path: path, Kind: changes.Modified}, Unit: row, Rank: rank}
	}
	u := inUnits([]Selection{
		{Change: changes.Change{Path: "/p/f"}}, part("/p/.git/index", 9), part("/p/.git/HEAD", 8), part("/p/.git/objects/ab", 1),
	})
	steps := []step{
		{Do: doMake, Type: entry.File, Path: "/p/.git/index"},
		{Do: doMake, Type: entry.File, Path: "/p/.git/HEAD"},
		{Do: doMake, Type: entry.File, Path: "/p/.git/objects/ab"},
		{Do: doMake, Type: entry.File, Path: "/p/f"},
	}
	u.order(steps)
	for i, want := range []string{"/p/f", "/p/.git/objects/ab", "/p/.git/HEAD", "/p/.git/index"} {
		if string(steps[i].Path) != want {
			t.Errorf("step %d is %s, want %s", i, steps[i].Path, want)
		}
	}
	if !steps[3].index || steps[2].index {
		t.Error("the index is not known as one")
	}
	rows := u.rows([]Row{{"/p/f", changes.Modified}, {"/p/.git/HEAD", changes.Modified}, {"/p/.git/index", changes.Modified}})
	if len(rows) != 2 || rows[1] != *row {
		t.Errorf("rows: %v", rows)
	}
	if err := u.complete([]Skip{{"/p/f", "why"}, {"/p/.git/HEAD", "its owner 1:1 was left out"}}); err != nil {
		t.Errorf("nothing of the whole is left out: %v", err)
	}
	if err := u.complete([]Skip{{"/p/.git/HEAD", "it cannot be read"}}); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a part of the whole is left out: %v", err)
	}
}
