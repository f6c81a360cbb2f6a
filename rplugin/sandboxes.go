package rplugin

import (
	"context"
	"sort"

	"sandbox/engine"
	"sandbox/engine/fault"
)

// sandboxes lists what there is, for completion and pickers.
func (h *host) sandboxes(ctx context.Context, r request) (any, error) {
	list, err := h.engine.List(ctx, r.flag("counts"))
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(list))
	for _, info := range list {
		out = append(out, infoTable(info))
	}
	return out, nil
}

// projectName names the sandbox of a directory: {dir, new} → {name, exists}.
func (h *host) projectName(ctx context.Context, r request) (any, error) {
	dir, err := r.need("dir")
	if err != nil {
		return nil, err
	}
	list, err := h.engine.List(ctx, false)
	if err != nil {
		return nil, err
	}
	name, exists := projectName(list, dir, r.flag("new"))
	return table{"name": name, "exists": exists}, nil
}

// resolveReview answers which sandbox a review without a name is about:
// {dir} → {names}. Candidates are the sandboxes with changes below the
// directory, and the one that was made there.
func (h *host) resolveReview(ctx context.Context, r request) (any, error) {
	dir, err := r.need("dir")
	if err != nil {
		return nil, err
	}
	list, err := h.engine.List(ctx, false)
	if err != nil {
		return nil, err
	}
	var names []string
	var damaged error
	for _, info := range list {
		if info.Project == dir {
			names = append(names, info.Name)
			continue
		}
		found, err := h.engine.Changes(ctx, info.Name, engine.Query{Dir: dir})
		switch {
		case err != nil:
			// One that cannot be read must not hide the others.
			damaged = err
		case len(found.Matching) > 0:
			names = append(names, info.Name)
		}
	}
	if len(names) == 0 {
		if damaged != nil {
			return nil, damaged
		}
		return nil, fault.New(fault.NoSandbox, "", "", "no sandbox has changes here",
			"Start one with :SandboxRun, or name one with :SandboxReview NAME.")
	}
	sort.Strings(names)
	return table{"names": names}, nil
}
