package engine

import (
	"context"

	"sandbox/engine/apply"
	"sandbox/engine/fault"
)

// The operations of package apply, until it has them.
var errLater = fault.New(fault.Internal, "accept", "", "this build cannot do it", "")

func acceptChanges(context.Context, apply.Env, []apply.Selection, apply.Options) (apply.Result, error) {
	return apply.Result{}, errLater
}

func rejectChanges(context.Context, apply.Env, []apply.Selection, apply.Options) (apply.Result, error) {
	return apply.Result{}, errLater
}

func undoOperation(context.Context, apply.Env, string) (apply.Result, error) {
	return apply.Result{}, errLater
}
