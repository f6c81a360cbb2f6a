package main

import "fmt"

// start measures how long a command takes to begin and end in a sandbox.
func (b *bench) start() error {
	const (
		warm     = "warm"
		stopped  = "stopped"
		fresh    = "fresh"
		bwrap    = "bwrap"
		bindings = "--dev-bind / / --proc /proc --dev /dev true"
	)
	if err := b.do(b.command(warm, "true")...); err != nil {
		return err
	}
	if err := b.do(b.command(stopped, "true")...); err != nil {
		return err
	}
	stop := func([]byte) error {
		return b.do(b.command(stopped, "stop")...)
	}
	if err := stop(nil); err != nil {
		return err
	}

	bash := &row{name: "`bash -c true`", argv: []string{"bash", "-c", "true"}}
	all := &row{name: "`bwrap --unshare-all`", argv: []string{
		bwrap, "--unshare-all",
		"--dev-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true",
	}}
	same := &row{name: "`bwrap`, our namespaces", argv: []string{
		bwrap, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net",
		"--dev-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true",
	}}
	rows := []*row{
		bash,
		all,
		same,
		{
			name: "`sandbox true`, cold: made, started", argv: b.command(fresh, "true"),
			after: func([]byte) error { return b.remove(fresh) },
		},
		{name: "`sandbox true`, cold: made before, started", argv: b.command(stopped, "true"), after: stop},
		{name: "`sandbox true`, warm: joined", argv: b.command(warm, "true")},
		{name: "`sandbox version`: nothing but the program itself", argv: []string{b.binary, "version"}},
	}
	fmt.Printf("#### Start\n\n%d runs of each row, in turns. Cold: no process of the sandbox is there; the time "+
		"includes its making or its mounts, not its stop. Both `bwrap` rows end with `%s`.\n\n", b.starts, bindings)
	if err := b.measure(b.starts, rows); err != nil {
		return err
	}
	table(rows, bash, same)
	return b.remove(warm)
}
