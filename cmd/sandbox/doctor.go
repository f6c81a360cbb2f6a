package main

import (
	"context"

	"sandbox/engine"
	"sandbox/engine/fault"
)

// doctor shows what this machine can do, as this user.
func doctor(_ context.Context, a *app) error {
	if err := a.noArgs(); err != nil {
		return err
	}
	e, _, err := a.open()
	if err != nil {
		return err
	}
	findings := e.Doctor()
	var missing *fault.Error
	for _, f := range findings {
		if f.State == engine.Missing && missing == nil {
			missing = fault.New(fault.Unsupported, "check", f.Check, f.Detail, f.Hint)
			a.exit = fault.ExitCode(missing)
		}
	}
	if a.json {
		rows := []document{}
		for _, f := range findings {
			row := document{"check": f.Check, "state": f.State}
			putText(row, "detail", f.Detail)
			if f.Hint != "" {
				row["hint"] = f.Hint
			}
			rows = append(rows, row)
		}
		d := document{"checks": rows}
		if missing != nil {
			d = errorDocument(missing)
			d["checks"] = rows
		}
		a.answer(d)
		return a.finish()
	}
	for _, f := range findings {
		a.printf("%-7s  %-10s  %s\n", f.State, f.Check, a.safe(f.Detail))
		if f.Hint != "" {
			a.printf("%-7s  %-10s  %s\n", "", "", f.Hint)
		}
	}
	return a.finish()
}
