// Package nvimtest drives a real Neovim as a user would: it starts a child
// editor with a private home, presses keys, and rebuilds the editor's screen as
// text with the highlight group of every cell.
//
//	nvimtest.Each(t, func(t *testing.T, version string) {
//		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Plugin())
//		e.Input(":edit notes.txt<CR>ihello<Esc>")
//		e.WaitFor("the text", nvimtest.Contains("hello"))
//	})
//
// There is no sleep in it: WaitFor looks at the screen as it stood at each flush
// of the editor. Text and highlight may arrive in different flushes, so a test
// that cares for both waits for both.
//
// It is for tests of what a user sees. What Lua computes is asked with Lua; what
// a file holds is read from the disk.
package nvimtest
