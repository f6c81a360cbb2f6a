package nvimtest

import (
	"strings"
	"time"
)

// poll is how often a condition that no flush announces is looked at again.
const poll = 5 * time.Millisecond

// Screen returns the screen as it stood at the last flush.
func (e *Editor) Screen() *Screen {
	screen, _ := e.grid.look()
	return screen
}

// WaitFor waits until a condition holds for the screen, and returns that screen.
// The condition sees each flushed screen at most once. What names it in the
// failure.
func (e *Editor) WaitFor(what string, condition func(*Screen) bool) *Screen {
	e.tb.Helper()
	deadline := time.NewTimer(e.timeout)
	defer deadline.Stop()
	for {
		screen, changed := e.grid.look()
		if screen.Height > 0 && condition(screen) {
			return screen
		}
		select {
		case <-changed:
		case err := <-e.served:
			e.served <- err
			e.tb.Fatalf("waiting for %s: the editor is gone (%v)", what, err)
		case <-deadline.C:
			e.tb.Fatalf("waiting for %s: %v", what, errTimeout)
		}
	}
}

// WaitLua waits until Lua returns true, for what the screen does not show.
func (e *Editor) WaitLua(what, code string, args ...any) {
	e.tb.Helper()
	e.Eventually(what, func() bool { return Lua[bool](e, code, args...) })
}

// Eventually waits until a condition holds that has nothing to do with the
// screen: a file, a process. It is looked at every few milliseconds.
func (e *Editor) Eventually(what string, condition func() bool) {
	e.tb.Helper()
	deadline := time.Now().Add(e.timeout)
	for !condition() {
		if time.Now().After(deadline) {
			e.tb.Fatalf("waiting for %s: %v", what, errTimeout)
		}
		_, changed := e.grid.look()
		select {
		case <-changed:
		case <-time.After(poll):
		}
	}
}

// Contains is a condition: every text stands somewhere in one row.
func Contains(texts ...string) func(*Screen) bool {
	return func(s *Screen) bool {
		for _, text := range texts {
			if !s.Contains(text) {
				return false
			}
		}
		return true
	}
}

// Lacks is a condition: no row holds the text.
func Lacks(text string) func(*Screen) bool {
	return func(s *Screen) bool { return !s.Contains(text) }
}

// Highlighted is a condition: text stands in one row, with the group on all of
// it.
func Highlighted(text, group string) func(*Screen) bool {
	return func(s *Screen) bool { return s.HasGroup(text, group) }
}

// All is a condition: all of them hold on one screen.
func All(conditions ...func(*Screen) bool) func(*Screen) bool {
	return func(s *Screen) bool {
		for _, condition := range conditions {
			if !condition(s) {
				return false
			}
		}
		return true
	}
}

// CursorLine is a condition: the row that the cursor is in holds the text.
func CursorLine(text string) func(*Screen) bool {
	return func(s *Screen) bool { return strings.Contains(s.Line(s.Row), text) }
}
