// Package initproc is what runs inside a sandbox on the sandbox's behalf: the
// first process (init), which puts the view together, reaps orphans and starts
// commands, and the small leader of each terminal session.
//
// In mode U init is one process. In mode P it is two: the outer one is real
// root, mounts, and only answers sync; the inner one lives in a child user
// namespace that maps every id to itself, and does all that init does in mode
// U, so that root's commands hold no capability over the machine.
package initproc

import (
	"sandbox/engine/mountplan"
	"sandbox/engine/wire"
)

// The names under which the binary is executed again; cmd/sandbox hands over
// to Main when it finds one of them as its own name.
const (
	InitName    = "sandbox-init"    // the first process
	InnerName   = "sandbox-inner"   // mode P: the process in the child user namespace
	SessionName = "sandbox-session" // leader of a terminal session
)

// The descriptors that init is started with.
const (
	fdListen = 3 // control socket, listening
	fdStatus = 4 // pipe: an error of the start, then closed
	fdConfig = 5 // pipe: Config
	fdLock   = 6 // the sandbox's flock
	fdLimit  = 7
)

// Config is what the client tells a new init.
type Config struct {
	Name       string
	Dir        string // absolute path of the sandbox's storage
	Privileged bool   // mode P
	HostNet    bool
	// Renames asks for renames of the host's directories to be emulated (mode U).
	Renames  bool
	UID, GID int
	Work     string // name of the fresh work directory in the storage
	// Uppers are the upper directories of the plan's overlays, in the plan's
	// order, relative to the storage; the skeleton's comes first in mode U.
	Uppers []string
	Plan   mountplan.Plan
	// Resolv is the content of /etc/resolv.conf when its target lies below a
	// directory that is made anew, and ResolvAt is that target.
	Resolv, ResolvAt string
}

// Marshal gives the bytes for fdConfig.
func (c *Config) Marshal() []byte {
	e := wire.Encoder{B: make([]byte, 0, 4096)}
	e.Str(c.Name)
	e.Str(c.Dir)
	e.Flag(c.Privileged)
	e.Flag(c.HostNet)
	e.Flag(c.Renames)
	e.Num(int64(c.UID))
	e.Num(int64(c.GID))
	e.Str(c.Work)
	e.Strs(c.Uppers)
	e.Num(int64(len(c.Plan.Items)))
	for _, it := range c.Plan.Items {
		e.Num(int64(it.Kind))
		e.Str(it.Path)
		e.Str(it.Link)
		e.Num(int64(it.Mode))
		e.Num(int64(it.UID))
		e.Num(int64(it.GID))
	}
	e.Num(int64(len(c.Plan.Seeds)))
	for _, s := range c.Plan.Seeds {
		e.Str(s.Path)
		e.Flag(s.Hidden)
		e.Flag(s.Copy)
		e.Num(int64(s.Mode))
	}
	e.Str(c.Resolv)
	e.Str(c.ResolvAt)
	return e.B
}

func (c *Config) unmarshal(b []byte) error {
	d := wire.Decoder{B: b}
	c.Name, c.Dir = d.Str(), d.Str()
	c.Privileged, c.HostNet, c.Renames = d.Flag(), d.Flag(), d.Flag()
	c.UID, c.GID = int(d.Num()), int(d.Num())
	c.Work = d.Str()
	c.Uppers = d.Strs()
	for range d.Count() {
		c.Plan.Items = append(c.Plan.Items, mountplan.Item{
			Kind: mountplan.Kind(d.Num()), //nolint:gosec // written from a Kind
			Path: d.Str(), Link: d.Str(),
			Mode: uint32(d.Num()), UID: uint32(d.Num()), GID: uint32(d.Num()), //nolint:gosec // written from uint32
		})
	}
	for range d.Count() {
		c.Plan.Seeds = append(c.Plan.Seeds, mountplan.Seed{
			Path: d.Str(), Hidden: d.Flag(), Copy: d.Flag(), Mode: uint32(d.Num()), //nolint:gosec // written from uint32
		})
	}
	c.Resolv, c.ResolvAt = d.Str(), d.Str()
	return d.Err
}
