package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/fault"
	"sandbox/engine/initproc"
	"sandbox/engine/mountplan"
	"sandbox/engine/store"
)

// configure plans the view, notes its layers in the settings, and sends all to
// init.
func (s *starting) configure(pipe int, work string) error {
	var host mountplan.Real
	mounts, err := host.Mounts()
	if err != nil {
		return fault.Wrap(fault.Failed, "read the mount table", "/proc/self/mountinfo", err)
	}
	cfg := initproc.Config{
		Name: s.dir.Name, Dir: s.dir.Path(), Privileged: s.meta.Mode == store.ModePrivileged, HostNet: s.meta.Net == "host",
		UID: os.Getuid(), GID: os.Getgid(), Work: work, Renames: !s.plainRenames,
	}
	if cfg.Privileged {
		cfg.Plan = mountplan.Privileged(mounts, host)
	} else {
		cfg.Plan = mountplan.User(mounts, host)
	}
	cfg.Plan.Hide(s.dir.Storage)
	if !cfg.Privileged {
		if err := s.relayout(&cfg.Plan); err != nil {
			return err
		}
	}
	s.layers(&cfg)
	cfg.ResolvAt, cfg.Resolv = resolv()
	if s.changed {
		if err := s.dir.SaveMeta(s.meta); err != nil {
			return fault.Wrap(fault.Failed, "write", s.dir.Path(store.MetaFile), err)
		}
	}
	return send(pipe, cfg.Marshal())
}

// layers gives each overlay its upper directory: one that it had before, or a
// new one.
func (s *starting) layers(cfg *initproc.Config) {
	if !cfg.Privileged {
		cfg.Uppers = append(cfg.Uppers, s.upper("/", func() string { return store.UpperSkel }))
	}
	for _, p := range cfg.Plan.Overlays() {
		cfg.Uppers = append(cfg.Uppers, s.upper(p, func() string {
			if cfg.Privileged {
				return store.UpperMnt + "/" + strconv.Itoa(len(s.meta.Layers))
			}
			return store.Upper + p
		}))
	}
}

func (s *starting) upper(host string, name func() string) string {
	i := slices.IndexFunc(s.meta.Layers, func(l changes.Layer) bool { return l.Host == host })
	if i < 0 {
		s.meta.Layers = append(s.meta.Layers, changes.Layer{Host: host, Upper: name()})
		s.changed = true
		i = len(s.meta.Layers) - 1
	}
	return s.meta.Layers[i].Upper
}

// resolv returns where /etc/resolv.conf leads and what it holds, when it is a
// symlink into /run, which is made anew inside.
func resolv() (at, content string) {
	const path = "/etc/resolv.conf"
	if fi, err := os.Lstat(path); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		return "", ""
	}
	at, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(at, "/run/") {
		return "", ""
	}
	b, err := os.ReadFile(at)
	if err != nil {
		return "", ""
	}
	// The first link's own target must exist as well when the chain has more
	// than one link; a plain file there ends the chain.
	if first, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(first) {
			first = filepath.Join("/etc", first)
		}
		if strings.HasPrefix(first, "/run/") {
			at = first
		}
	}
	return at, string(b)
}

func send(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err == unix.EPIPE {
			return nil // init ended; its status pipe says why
		}
		if err != nil {
			return fault.Wrap(fault.Failed, "configure init", "", err)
		}
		b = b[n:]
	}
	return nil
}
