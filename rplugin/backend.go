package rplugin

import (
	"context"

	"sandbox/engine"
	"sandbox/engine/apply"
	"sandbox/engine/diff"
	"sandbox/engine/entry"
)

// Backend is the part of *engine.Engine that the editor needs.
type Backend interface {
	List(ctx context.Context, counts bool) ([]engine.Info, error)
	Info(ctx context.Context, name string) (engine.Info, error)
	Changes(ctx context.Context, name string, query engine.Query) (engine.Changes, error)
	Diff(ctx context.Context, name, path string) (engine.FileDiff, error)
	Accept(ctx context.Context, name string, options engine.DecideOptions) (apply.Result, error)
	Reject(ctx context.Context, name string, options engine.DecideOptions) (apply.Result, error)
	Undo(ctx context.Context, name, id string) (apply.Result, error)
	ReadSandbox(ctx context.Context, name, path string) (diff.Side, entry.Print, error)
	WriteSandbox(ctx context.Context, name, path string, data []byte, expect entry.Print) (entry.Print, error)
	Sync(ctx context.Context, name string, paths ...string) error
}
