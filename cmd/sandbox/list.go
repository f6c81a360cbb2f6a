package main

import (
	"context"
	"strconv"
	"time"

	"sandbox/engine/termsafe"
)

func list(ctx context.Context, a *app) error {
	if err := a.noArgs(); err != nil {
		return err
	}
	e, _, err := a.open()
	if err != nil {
		return err
	}
	infos, err := e.List(ctx, true)
	if err != nil {
		return err
	}
	if a.json {
		rows := []document{}
		for _, i := range infos {
			row := document{
				"name": i.Name, "running": i.Running, "created": i.Created.Format(time.RFC3339),
				"changes": i.Changes, "net": i.Net, "mode": i.Mode,
			}
			putText(row, "project", i.Project)
			if i.Problem != "" {
				putText(row, "problem", i.Problem)
			}
			rows = append(rows, row)
		}
		a.answer(document{"sandboxes": rows})
		return a.finish()
	}
	if len(infos) == 0 {
		a.printf("No sandboxes in %s.\n", a.safe(e.Storage))
		return a.finish()
	}
	table := [][]string{{"NAME", "STATE", "CHANGES", "NET", "CREATED", "PROJECT"}}
	for _, i := range infos {
		state, changed := "stopped", "?"
		if i.Running {
			state = "running"
		}
		if i.Changes >= 0 {
			changed = strconv.Itoa(i.Changes)
		}
		table = append(table, []string{i.Name, state, changed, i.Net, i.Created.Local().Format("2006-01-02 15:04"), a.safe(i.Project)})
	}
	a.printColumns(table)
	for _, i := range infos {
		if i.Problem != "" {
			a.notef("sandbox: %s: %s", i.Name, safeErr(i.Problem))
		}
	}
	return a.finish()
}

// printColumns prints rows with aligned columns.
func (a *app) printColumns(rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			if i == len(row)-1 {
				a.printf("%s\n", cell)
			} else {
				a.printf("%s  ", pad(cell, width[i]))
			}
		}
	}
}

// safeErr makes text safe for standard error, which people read.
func safeErr(s string) string { return termsafe.Name(s) }
