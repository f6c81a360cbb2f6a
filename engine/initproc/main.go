package initproc

import (
	"io"
	"log"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/harden"
	"sandbox/engine/mount"
	"sandbox/engine/mountplan"
	"sandbox/engine/renames"
)

// Main is the whole program when it was executed under one of the names above.
// It does not return; other names return at once.
func Main(name string) {
	switch name {
	case InitName:
		os.Exit(initMain())
	case InnerName:
		os.Exit(innerMain())
	case SessionName:
		os.Exit(sessionMain())
	}
}

// initMain is PID 1. Its standard error is init.log.
func initMain() int {
	unix.Umask(0)
	if err := closeInherited(fdLimit); err != nil {
		return fail(err)
	}
	for fd := fdListen; fd < fdLimit; fd++ {
		unix.CloseOnExec(fd)
	}
	discardSignals()
	log.SetFlags(log.LstdFlags | log.Lmicroseconds)
	cfg, err := readConfig()
	if err != nil {
		return fail(err)
	}
	if !cfg.HostNet {
		if err := loopbackUp(); err != nil {
			return fail(err)
		}
	}
	// Opened here and not by the client: a descriptor from the client's mount
	// namespace cannot be a layer or a mount point in this one.
	base, err := unix.Open(cfg.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(cannot("open", cfg.Dir, err))
	}
	// A mount of its own, because shield may take the right to write from the
	// one that the storage lies in.
	storage, err := mount.Bind(base, "", true, 0)
	if err != nil {
		return fail(cannot("keep", cfg.Dir, err))
	}
	b := &builder{cfg: cfg, base: base}
	if err := b.build(); err != nil {
		return fail(err)
	}
	for _, n := range b.notes {
		log.Print(n)
	}
	_ = unix.Close(base)
	if cfg.Privileged {
		return outer(cfg, b)
	}
	if err := guard(); err != nil {
		return fail(err)
	}
	renames.Recover(storage)
	s, err := newServer(cfg, b.sync)
	if err != nil {
		return fail(err)
	}
	s.spawn.emulateRenames(storage)
	_ = unix.Close(fdStatus) // no error: the start is done
	s.serve(fdListen)
	return 1
}

// guard protects init from what runs beside it.
func guard() error {
	if err := harden.IgnoreFatalSignals(); err != nil {
		return err
	}
	return harden.Undumpable()
}

// closeInherited makes everything from first on close-on-exec: a descriptor of
// the caller's that reached a command would be a way out of the sandbox.
func closeInherited(first uint) error {
	return cannot("close inherited descriptors", "", unix.CloseRange(first, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC))
}

// discardSignals catches what would end init. Not signal.Ignore: ignored
// signals are inherited by every command, handlers are not.
func discardSignals() {
	sink := make(chan os.Signal, 16)
	signal.Notify(sink, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR1,
		unix.SIGUSR2, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGALRM, unix.SIGVTALRM, unix.SIGIO)
	go func() {
		for range sink { // drained on purpose
		}
	}()
}

func readConfig() (*Config, error) {
	f := os.NewFile(fdConfig, "config")
	b, err := io.ReadAll(f)
	_ = f.Close()
	cfg := &Config{}
	if err == nil {
		err = cfg.unmarshal(b)
	}
	return cfg, cannot("read", "the start's configuration", err)
}

// fail hands the error to the client that waits for the start, and logs it.
func fail(err error) int {
	log.Print(err)
	ev := control.Event{Proto: control.Protocol, Kind: control.Failed}
	ev.SetFault(err)
	_, _ = unix.Write(fdStatus, ev.Marshal())
	return 125
}

// sync reconfigures the overlays that hold the given paths, or all.
func (b *builder) sync(paths ...string) error { return syncOverlays(b.overlays, paths) }

func syncOverlays(overlays []overlayAt, paths []string) error {
	hit := map[int]bool{}
	for _, p := range paths {
		best := -1
		for i, o := range overlays {
			if (p == o.path || mountplan.Below(p, o.path)) && (best < 0 || len(o.path) > len(overlays[best].path)) {
				best = i
			}
		}
		hit[best] = true
	}
	for i, o := range overlays {
		if len(paths) > 0 && !hit[i] {
			continue
		}
		if err := mount.Reconfigure(o.fd); err != nil {
			return cannot("make host changes visible in", o.path, err)
		}
	}
	return nil
}
