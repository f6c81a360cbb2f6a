// Package repo finds the git directories among the changes of a sandbox, and
// makes one row of all that changed in each. What runs programs (hooks, and
// settings that are not known to be harmless) keeps a row of its own, so that
// nobody takes it along unseen.
//
// Whether something is a git directory is told by what is in it, as git does,
// so one under another name, or a bare one, is found too.
package repo
