// Package harden holds the restrictions that every sandboxed command starts
// with: no capabilities, no_new_privs, a seccomp deny list, Landlock scopes and
// a scrubbed environment.
//
// All kernel restrictions here belong to one OS thread and are inherited by
// what that thread forks. The sandbox's init therefore keeps one goroutine
// locked to its thread (runtime.LockOSThread), restricts that thread and does
// every fork and exec there; its other threads stay able to mount and to change
// the merged view. Nothing here uses AllThreadsSyscall or TSYNC.
//
// Before it starts the first command, init calls Undumpable and
// IgnoreFatalSignals once. The order on the locked thread is DropCapabilities or LimitRoot, then Landlock,
// then Seccomp: the last two need no_new_privs or CAP_SYS_ADMIN.
//
// The package imports little on purpose: it is linked into the start path of
// every command. (A seccomp library's tables cost 0.3 ms at each start.)
package harden
