// Package ignore decides which paths are of no interest to a person who looks
// at changes: those that the rule files of a project name (.gitignore, .ignore,
// .git/info/exclude), and those that everyday programs leave everywhere
// (noise).
//
// It reads no file itself: a Source gives the rule files of a tree. It knows
// nothing of changes either: which of them may be left out at all, package
// engine decides.
//
// Rules are what git makes of them, to the letter; TestEqualsGit holds the
// package to that. Rule files are written by anybody, so their size, their
// number of rules and the work they cause are bounded; beyond a bound nothing is
// ignored, which is the safe side.
package ignore
