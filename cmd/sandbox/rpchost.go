package main

import (
	"context"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
	"sandbox/rplugin"
)

// rpcHost serves one Neovim on standard input and output.
func rpcHost(ctx context.Context, a *app) error {
	e, _, err := a.open()
	if err != nil {
		return err
	}
	out, err := claimStdout()
	if err != nil {
		return fault.Wrap(fault.Failed, "prepare the channel to Neovim", "", err)
	}
	return rplugin.Serve(ctx, os.Stdin, out, e, version)
}

// claimStdout takes standard output for the channel and puts standard error in
// its place, so that a stray print does not break the protocol.
func claimStdout() (io.WriteCloser, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "neovim"), nil
}
