// Package fault holds the one error type that crosses the engine's borders.
//
// Every failure that a person can meet says what was attempted, where, why it
// failed and what to do next. The code is stable: it is what --json prints and
// what scripts match; the texts may change.
package fault

import (
	"errors"
	"strings"
)

// Code is the stable name of a kind of failure. It is printed as
// error.code in JSON and decides the exit code.
type Code string

// The codes. The exit code of each is what ExitCode returns.
const (
	Failed      Code = "failed"          // 1: anything without a better name
	Usage       Code = "usage"           // 2: the request itself is wrong
	Config      Code = "config"          // 2: a configuration file is wrong
	NoMatch     Code = "no_match"        // 3: a pattern or id matched nothing
	NothingUndo Code = "nothing_to_undo" // 3: the journal is empty
	Conflict    Code = "conflict"        // 4: the host changed too; nothing was written
	Stale       Code = "stale"           // 4: either side moved since it was looked at; nothing was written
	NoSandbox   Code = "no_sandbox"      // 5: no sandbox of that name
	Unsupported Code = "unsupported"     // 6: this machine cannot do it
	Busy        Code = "busy"            // 1: another operation holds the lock
	Damaged     Code = "damaged"         // 1: a file of ours cannot be read
	Exists      Code = "exists"          // 1: something stands where a new thing must go
	Internal    Code = "internal"        // 1: a bug
)

// Error says what failed (Op, Path), why (Reason, Err) and what to do (Hint).
type Error struct {
	Code   Code
	Op     string // what was attempted, e.g. "accept"
	Path   string // where, may be empty
	Reason string // why, one clause without a full stop; may be empty when Err says it
	Hint   string // what to do next, one sentence; may be empty
	Err    error  // the cause, may be nil
}

// New returns an Error of a code.
func New(code Code, op, path, reason, hint string) *Error {
	return &Error{Code: code, Op: op, Path: path, Reason: reason, Hint: hint}
}

// Wrap returns an Error of a code around a cause. A nil cause gives a nil error.
func Wrap(code Code, op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Op: op, Path: path, Err: err}
}

// Error gives "op path: reason: cause", without the hint.
func (e *Error) Error() string {
	var parts []string
	head := strings.TrimSpace(e.Op + " " + e.Path)
	if head != "" {
		parts = append(parts, head)
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an Error of the same code, so that
// errors.Is(err, &fault.Error{Code: fault.Stale}) works.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Op == "" && t.Path == ""
}

// CodeOf returns the code of the outermost Error in err's chain, Failed for
// other errors, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Failed
}

// HintOf returns the first hint in err's chain.
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}

// ExitCode maps an error to the process's exit code; nil is 0.
func ExitCode(err error) int {
	switch CodeOf(err) {
	case "":
		return 0
	case Usage, Config:
		return 2
	case NoMatch, NothingUndo:
		return 3
	case Conflict, Stale:
		return 4
	case NoSandbox:
		return 5
	case Unsupported:
		return 6
	default:
		return 1
	}
}
