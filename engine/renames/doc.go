// Package renames makes rename(2) of a directory of the host work in mode U.
//
// An overlay without redirect_dir, which the kernel refuses to ordinary users,
// answers EXDEV to it. `mv` then copies and deletes; `git mv`, os.rename and
// most other programs fail. So the spawner's thread gets a seccomp filter that
// reports rename calls to init. What is not a directory goes on at once. For a
// directory a thread of init with the rights of the commands, and no more, asks
// the kernel first; only when that says EXDEV, and both places are in one
// overlay, it does what the kernel would have done: it links the tree at a
// temporary name beside the target (a link of a lower file is a copy-up), which
// changes nothing of the source, and renames that, which is atomic because the
// new tree is all in the upper. Then the source is drained: what was linked is
// removed, what others created meanwhile is moved along.
//
// A failure before the rename is undone and answers EXDEV, as if none of this
// were here. After it the answer is 0. A journal in the sandbox's storage lets
// the next start clean up after an init that was killed.
//
// It is not a security boundary: all that it reads from a caller (memory,
// paths, directories) is the caller's to choose, and gives nothing that the
// caller could not do itself. Therefore a caller that has given up rights which
// init cannot see from outside (Landlock, seccomp filters of its own, another
// namespace or root) gets the kernel's own answer.
package renames
