package main

import (
	"context"

	"sandbox/engine"
	"sandbox/engine/apply"
	"sandbox/engine/fault"
)

const acceptHelp = `Takes the changes below the working directory, or those that match the
patterns, over to this machine. Files that run by themselves later (git hooks,
shell start-up files, …) are held back unless each is named exactly or
--sensitive is given. What a program committed to a repository of this machine
is left out too: naming its .git directory, or --git, takes it as a whole.
A file that changed on this machine too is merged, on both sides, where the
changes are in different places; otherwise it is a conflict: nothing is written
(exit 4) unless --skip-conflicts is given.
A directory that a chosen file needs comes along, and is named first.
"sandbox undo" takes it back.
`

const rejectHelp = `Gives the sandbox this machine's version of the changes below the working
directory, or of those that match the patterns. "sandbox undo" takes it back.
`

const undoHelp = `Takes back the newest accept or reject, or the one with that id, also on this
machine's side. It is refused (exit 4) where a file was changed since.
`

// decider is Accept or Reject.
type decider func(*engine.Engine, context.Context, string, engine.DecideOptions) (apply.Result, error)

func acceptAction(ctx context.Context, a *app) error {
	return a.decide(ctx, (*engine.Engine).Accept, "Accepted", "Nothing to accept.")
}

func rejectAction(ctx context.Context, a *app) error {
	return a.decide(ctx, (*engine.Engine).Reject, "Rejected", "Nothing to reject.")
}

func (a *app) decide(ctx context.Context, do decider, done, nothing string) error {
	e, name, dir, err := a.openHere()
	if err != nil {
		return err
	}
	query := engine.Query{Dir: dir, Patterns: a.args, Ignored: a.ignored}
	opts := engine.DecideOptions{
		Query: query, Sensitive: a.sensitive, Git: a.git, SkipConflicts: a.skipConflicts, Special: a.special,
	}
	if !a.json {
		opts.Before = func(p apply.Preview) {
			for _, row := range p.Implied {
				a.notef("sandbox: %s comes along: what was chosen lies in it", safeErr(shown(dir, row.Path)))
			}
			for _, n := range p.Notes {
				a.notef("sandbox: note %s: %s", safeErr(shown(dir, n.Path)), safeErr(n.Reason))
			}
		}
	}
	if len(a.hunks) > 0 {
		if opts.Decisions, err = a.findBlocks(ctx, e, name, query); err != nil {
			return err
		}
	}
	end := a.progress(a.action + "ing")
	result, err := do(e, ctx, name, opts)
	end()
	if err != nil {
		return err
	}
	return a.report(dir, done, nothing, result)
}

// findBlocks turns the ids of --hunk into decisions that are bound to the
// content they were found in.
func (a *app) findBlocks(ctx context.Context, e *engine.Engine, name string, q engine.Query) ([]engine.Decision, error) {
	missing := map[string]bool{}
	for _, id := range a.hunks {
		missing[id] = true
	}
	q.Ignored = true // an id names its block
	var out []engine.Decision
	_, err := e.EachDiff(ctx, name, q, func(f engine.FileDiff) error {
		d := engine.Decision{Path: f.Change.Path, Host: f.HostHash, Sandbox: f.SandboxHash}
		for _, h := range f.Hunks {
			if missing[h.ID] {
				d.Hunks = append(d.Hunks, h.ID)
				delete(missing, h.ID)
			}
		}
		if d.Hunks != nil {
			out = append(out, d)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, id := range a.hunks {
		if missing[id] {
			return nil, fault.New(fault.Stale, a.action+" block", id, "there is no such block now",
				"Look again with `sandbox diff --json`; nothing was written.")
		}
	}
	return out, nil
}

func undo(ctx context.Context, a *app) error {
	if len(a.args) > 1 {
		return fault.New(fault.Usage, "undo", a.args[1], "it takes one id", "Without an id the newest operation is undone.")
	}
	e, name, dir, err := a.openHere()
	if err != nil {
		return err
	}
	id := ""
	if len(a.args) == 1 {
		id = a.args[0]
	}
	result, err := e.Undo(ctx, name, id)
	if err != nil {
		return err
	}
	return a.report(dir, "Undone", "Nothing to undo.", result)
}

// report says what an operation did and what it left alone.
func (a *app) report(dir, done, nothing string, r apply.Result) error {
	if a.json {
		implied := map[string]bool{}
		for _, row := range r.Implied {
			implied[row.Path] = true
		}
		rows := []document{}
		for _, d := range r.Done {
			row := document{"kind": d.Kind}
			if implied[d.Path] {
				row["implied"] = true
			}
			putText(row, "path", d.Path)
			rows = append(rows, row)
		}
		reasons := func(list []apply.Skip) []document {
			out := []document{}
			for _, s := range list {
				row := document{"reason": s.Reason}
				putText(row, "path", s.Path)
				out = append(out, row)
			}
			return out
		}
		d := document{"done": rows, "skipped": reasons(r.Skipped)}
		if len(r.Notes) > 0 {
			d["notes"] = reasons(r.Notes)
		}
		if r.ID != "" {
			d["id"] = r.ID
		}
		if r.Ignored > 0 {
			d["ignored"] = r.Ignored
		}
		a.answer(d)
		return a.finish()
	}
	if len(r.Done) > 0 {
		a.printf("%s:\n", done)
		for _, d := range r.Done {
			a.printf("   %s %s\n", mark(d.Kind), a.safe(shown(dir, d.Path)))
		}
	} else if len(r.Skipped) == 0 {
		a.printf("%s\n", nothing)
	}
	for _, s := range r.Skipped {
		a.notef("sandbox: skipped %s: %s", safeErr(shown(dir, s.Path)), safeErr(s.Reason))
	}
	if text := ignoredLine(r.Ignored, len(r.Done) > 0, r.WhyIgnored); text != "" {
		a.notef("sandbox: %s; --ignored takes them, and so does naming them", text)
	}
	return a.finish()
}
