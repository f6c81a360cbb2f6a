package rplugin

import (
	"context"
	"slices"

	"sandbox/engine"
	"sandbox/engine/apply"
	"sandbox/engine/changes"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// file compares one path: {name, path}.
func (h *host) file(ctx context.Context, r request) (any, error) {
	name, err := r.need("name")
	if err != nil {
		return nil, err
	}
	path, err := r.need("path")
	if err != nil {
		return nil, err
	}
	return h.compare(ctx, name, path)
}

// compare gives both sides of a path with their blocks. A path that has no
// change any more gives two equal sides and no blocks.
func (h *host) compare(ctx context.Context, name, path string) (table, error) {
	d, err := h.engine.Diff(ctx, name, path)
	if fault.CodeOf(err) == fault.NoMatch {
		side, print, err := h.engine.ReadSandbox(ctx, name, path)
		if err != nil {
			return nil, err
		}
		d = engine.FileDiff{HostHash: print, SandboxHash: print, Base: "same", Host: side, Sandbox: side}
		d.Change.Path = path
	} else if err != nil {
		return nil, err
	}
	answer := table{
		"name":     name,
		"path":     d.Change.Path,
		"kind":     string(d.Change.Kind),
		"conflict": d.Change.Conflict,
		"base":     d.Base,
		"host":     sideTable(d.Host, d.HostHash),
		"sandbox":  sideTable(d.Sandbox, d.SandboxHash),
		"hunks":    hunkTables(d.Hunks),
	}
	if len(d.Apart) > 0 {
		answer["apart"] = apartTable(d.Apart)
	}
	if d.Change.From != "" {
		answer["from"] = d.Change.From
	}
	if d.Change.Sensitive != nil {
		answer["sensitive"] = table{"level": string(d.Change.Sensitive.Level), "reason": d.Change.Sensitive.Reason}
	}
	if d.Change.Git != nil {
		answer["placeholder"], answer["git"] = "a git repository", gitLines(d.Change.Git)
		return answer, nil
	}
	if why := notText(d); why != "" {
		answer["placeholder"] = why
		return answer, nil
	}
	answer["host"].(table)["text"] = string(d.Host.Data)
	answer["sandbox"].(table)["text"] = string(d.Sandbox.Data)
	return answer, nil
}

// gitLines is what is shown of a git directory in the place of a text.
func gitLines(g *changes.Git) []string {
	lines := []string{g.Summary}
	if g.Trouble != "" {
		lines = append(lines, "! "+g.Trouble)
	}
	for _, m := range slices.Concat(g.Branches, g.Refs) {
		lines = append(lines, m.Kind+" "+m.Name)
		if m.Old != "" {
			lines = append(lines, "  from "+m.Old)
		}
		if m.New != "" {
			lines = append(lines, "  to   "+m.New)
		}
	}
	return lines
}

// notText says why a comparison cannot be shown as two texts, "" when it can.
func notText(d engine.FileDiff) string {
	for _, side := range []diff.Side{d.Host, d.Sandbox} {
		switch side.Type {
		case entry.File, entry.None, "":
		default:
			return "no regular file"
		}
		if len(side.Data) > maxText {
			return "too large to show"
		}
	}
	for _, h := range d.Hunks {
		switch h.Kind {
		case diff.Binary:
			return "binary"
		case diff.TypeChange, diff.SymlinkMoved:
			return "no regular file"
		}
	}
	if !textual(d.Host.Data) || !textual(d.Sandbox.Data) {
		return "binary"
	}
	return ""
}

// read gives the sandbox's version of a path, for a sandbox:// buffer that
// belongs to no review: {name, path}.
func (h *host) read(ctx context.Context, r request) (any, error) {
	return h.file(ctx, r)
}

// write puts a buffer's bytes into the sandbox: {name, path, data, expect}.
func (h *host) write(ctx context.Context, r request) (any, error) {
	name, err := r.need("name")
	if err != nil {
		return nil, err
	}
	path, err := r.need("path")
	if err != nil {
		return nil, err
	}
	expect, err := r.need("expect")
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	var answer table
	err = h.watch.own(name, func() error {
		print, err := h.engine.WriteSandbox(ctx, name, path, []byte(r.text("data")), entry.Print(expect))
		if err != nil {
			return err
		}
		if answer, err = h.after(ctx, name, path, []apply.Row{{Path: path}}); err != nil {
			return err
		}
		answer["print"] = string(print)
		return nil
	})
	return answer, err
}

// saved makes a host file that the user wrote visible inside and compares it
// anew: {name, path}.
func (h *host) saved(ctx context.Context, r request) (any, error) {
	name, err := r.need("name")
	if err != nil {
		return nil, err
	}
	path, err := r.need("path")
	if err != nil {
		return nil, err
	}
	if err := h.engine.Sync(ctx, name, path); err != nil {
		return nil, err
	}
	return h.after(ctx, name, path, []apply.Row{{Path: path}})
}

// after is the state that an answer carries, so that one step is one call: the
// list, and the file that is looked at. done is what was written, nil when
// anything may have changed.
func (h *host) after(ctx context.Context, name, show string, done []apply.Row) (table, error) {
	var dir string
	var all bool
	h.reviews.with(name, func(v *review) { dir, all = v.dir, v.all })
	answer := table{}
	if dir != "" {
		var patch table
		var err error
		if done != nil {
			if patch, err = h.patch(ctx, name, done); err != nil {
				return nil, err
			}
		}
		if patch != nil {
			answer["patch"] = patch
		} else if answer["review"], err = h.list(ctx, name, dir, all); err != nil {
			return nil, err
		}
	}
	if show != "" {
		file, err := h.compare(ctx, name, show)
		if err != nil {
			return nil, err
		}
		answer["file"] = file
	}
	return answer, nil
}

func textual(data []byte) bool {
	ok, _ := diff.IsText(data)
	return ok
}
