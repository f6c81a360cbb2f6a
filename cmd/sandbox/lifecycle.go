package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"sandbox/engine"
	"sandbox/engine/changes"
	"sandbox/engine/config"
	"sandbox/engine/fault"
)

const deleteHelp = `Removes the sandbox with its changes and its undo journal; what was accepted
stays. It asks first; -y answers yes.
`

const syncHelp = `Files that were replaced or removed on this machine can stay visible in a
running sandbox for a while. This makes it look again.
`

// names are the sandboxes of stop and delete: arguments, or the chosen one.
func (a *app) names(chosen string) ([]string, error) {
	if len(a.args) == 0 {
		return []string{chosen}, nil
	}
	if a.name != "" {
		return nil, fault.New(fault.Usage, a.action, a.args[0], "--name and an argument name a sandbox", "Give one of them.")
	}
	for _, n := range a.args {
		if err := config.CheckName(n); err != nil {
			return nil, err
		}
	}
	return a.args, nil
}

func stop(ctx context.Context, a *app) error {
	e, chosen, err := a.open()
	if err != nil {
		return err
	}
	names, err := a.names(chosen)
	if err != nil {
		return err
	}
	stopped := []string{}
	for _, name := range names {
		info, err := e.Info(ctx, name)
		if err != nil {
			return err
		}
		done := a.progress("stopping")
		err = e.Stop(ctx, name)
		done()
		if err != nil {
			return err
		}
		if info.Running {
			stopped = append(stopped, name)
		}
		if !a.json {
			a.printf("%s\n", map[bool]string{true: name + " is stopped.", false: name + " was not running."}[info.Running])
		}
	}
	if a.json {
		a.answer(document{"stopped": stopped})
	}
	return a.finish()
}

func deleteAction(ctx context.Context, a *app) error {
	e, chosen, err := a.open()
	if err != nil {
		return err
	}
	names, err := a.names(chosen)
	if err != nil {
		return err
	}
	if !a.yes {
		if err := a.confirm(ctx, e, names); err != nil {
			return err
		}
	}
	deleted, lost := []string{}, []document{}
	for _, name := range names {
		rows := a.lost(ctx, e, name)
		if a.yes && !a.json {
			for _, line := range lostLines(rows) {
				a.notef("sandbox: %s goes with %s", safeErr(line), name)
			}
		}
		for i := range rows {
			row := document{"sandbox": name, "git": gitDocument(&rows[i])}
			putText(row, "path", rows[i].Path)
			lost = append(lost, row)
		}
		done := a.progress("deleting")
		err = e.Delete(ctx, name)
		done()
		if err != nil {
			return err
		}
		deleted = append(deleted, name)
		if !a.json {
			a.printf("%s is deleted.\n", name)
		}
	}
	if a.json {
		d := document{"deleted": deleted}
		if len(lost) > 0 {
			d["lost"] = lost
		}
		a.answer(d)
	}
	return a.finish()
}

// lost are the repositories with commits that no accept has taken. A sandbox
// that cannot be read can be deleted all the same.
func (a *app) lost(ctx context.Context, e *engine.Engine, name string) []changes.Change {
	rows, err := e.Lost(ctx, name)
	if err != nil {
		return nil
	}
	return rows
}

func lostLines(rows []changes.Change) []string {
	var out []string
	for i := range rows {
		out = append(out, rows[i].Path+" ("+rows[i].Git.Summary+")")
	}
	return out
}

// confirm asks a person; without one, -y must be given.
func (a *app) confirm(ctx context.Context, e *engine.Engine, names []string) error {
	what := ""
	for _, name := range names {
		if _, err := e.Info(ctx, name); err != nil {
			return err
		}
		changed := "its changes"
		if found, err := e.Changes(ctx, name, engine.Query{All: true, Ignored: true}); err == nil {
			changed = count(len(found.Matching), "change")
		}
		what += fmt.Sprintf("%s with %s that no accept has taken, and its undo journal\n", name, changed)
		for _, line := range lostLines(a.lost(ctx, e, name)) {
			what += "  commits: " + safeErr(line) + "\n"
		}
	}
	refuse := fault.New(fault.Usage, "delete", strings.Join(names, " "), "it was not confirmed", "-y answers yes.")
	if a.json || !isTerminal(0) || !a.errTTY {
		return refuse
	}
	fmt.Fprintf(a.errs, "This removes %sReally delete? [y/N] ", what)
	line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return refuse
	}
	return nil
}

func syncAction(ctx context.Context, a *app) error {
	e, name, dir, err := a.openHere()
	if err != nil {
		return err
	}
	paths := make([]string, len(a.args))
	for i, p := range a.args {
		paths[i] = absolute(dir, p)
	}
	if err := e.Sync(ctx, name, paths...); err != nil {
		return err
	}
	if a.json {
		a.answer(document{"sandbox": name})
	}
	return a.finish()
}
