package rplugin

import (
	"sandbox/engine"
	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// table is a Lua table in the making.
type table = map[string]any

// maxText is the largest side that is shown as text. Anything larger is decided
// on as a whole.
const maxText = 8 << 20

// errorTable is how a failure travels: what a person reads, apart from what a
// program tests.
func errorTable(err error) table {
	return table{
		"code":    string(fault.CodeOf(err)),
		"message": err.Error(),
		"hint":    fault.HintOf(err),
	}
}

func infoTable(info engine.Info) table {
	return table{
		"name":    info.Name,
		"running": info.Running,
		"created": info.Created.Unix(),
		"changes": info.Changes,
		"net":     info.Net,
		"mode":    info.Mode,
		"project": info.Project,
	}
}

func changeTable(c changes.Change) table {
	row := table{
		"path":     c.Path,
		"kind":     string(c.Kind),
		"added":    c.Added,
		"removed":  c.Removed,
		"conflict": c.Conflict,
		"base":     c.Base,
		"host":     string(c.Host.Type),
		"sandbox":  string(c.Sandbox.Type),
	}
	if c.From != "" {
		row["from"] = c.From
	}
	if c.Git != nil {
		row["git"] = c.Git.Summary
	}
	if c.Sensitive != nil {
		row["sensitive"] = table{"level": string(c.Sensitive.Level), "reason": c.Sensitive.Reason}
	}
	if c.Ignored != nil {
		row["ignored"] = c.Ignored.String()
	}
	return row
}

func sideTable(side diff.Side, print entry.Print) table {
	t := table{
		"print": string(print),
		"type":  string(side.Type),
		"mode":  int(side.Mode),
		"size":  len(side.Data),
	}
	if side.Target != "" {
		t["target"] = side.Target
	}
	return t
}

func hunkTables(hunks []diff.Hunk) []any {
	out := make([]any, 0, len(hunks))
	for _, h := range hunks {
		out = append(out, table{
			"id":       h.ID,
			"kind":     string(h.Kind),
			"host":     []int{h.Host[0], h.Host[1]},
			"sandbox":  []int{h.Sandbox[0], h.Sandbox[1]},
			"old":      h.Old,
			"new":      h.New,
			"conflict": h.Conflict,
		})
	}
	return out
}

// apartTable gives the places where only the host changed, as start and count
// of both sides.
func apartTable(spots [][2]diff.Range) []any {
	out := make([]any, 0, len(spots))
	for _, s := range spots {
		out = append(out, []int{s[0][0], s[0][1], s[1][0], s[1][1]})
	}
	return out
}

func resultTable(result apply.Result) table {
	done := make([]any, 0, len(result.Done))
	for _, row := range result.Done {
		done = append(done, table{"path": row.Path, "kind": string(row.Kind)})
	}
	skipped := make([]any, 0, len(result.Skipped))
	for _, row := range result.Skipped {
		skipped = append(skipped, table{"path": row.Path, "reason": row.Reason})
	}
	notes := make([]any, 0, len(result.Notes))
	for _, row := range result.Notes {
		notes = append(notes, table{"path": row.Path, "reason": row.Reason})
	}
	return table{"operation": result.ID, "done": done, "skipped": skipped, "notes": notes}
}
