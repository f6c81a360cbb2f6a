// Package control is the protocol between the programs outside a sandbox and
// its init: one SEQPACKET connection per command or per series of operations,
// descriptors passed with SCM_RIGHTS.
//
// A connection starts with a Request. Op Run is answered by Started or Failed,
// then by any number of Stopped and one Exited, while the client may send
// Signal and Resume. All other ops are answered by one Reply each, and the
// connection takes the next Request.
package control

import (
	"sandbox/engine/entry"
	"sandbox/engine/view"
	"sandbox/engine/wire"
)

// Protocol is the number of this version. An init of another number is
// answered with "sandbox stop NAME".
const Protocol = 1

// Op is what a Request asks for.
type Op int64

// The operations.
const (
	OpRun Op = iota + 1
	OpStop
	OpPing
	OpSync
	OpPrint
	OpWrite
	OpSymlink
	OpMkdir
	OpMknod // Target is the type of what is made
	OpRemove
	OpSetattr
)

// Stream says where one of a command's standard streams goes.
type Stream int64

// The streams.
const (
	Passed   Stream = iota + 1 // the next passed descriptor
	Terminal                   // the command's own terminal
	Null                       // the sandbox's /dev/null
)

// Request asks init for something. Paths are of the view.
type Request struct {
	Proto int64
	Op    Op

	// Run
	Argv, Env  []string
	Dir        string
	Umask      int64
	Streams    [3]Stream
	TTY        bool
	Foreground bool // the command owns its terminal from the start
	Rows, Cols uint16
	Termios    []byte // of the caller's terminal, as the kernel's struct; empty for the default

	// view operations
	Path   string
	Target string
	Meta   view.Meta
	Expect entry.Print
	Paths  []string // OpSync
}

func (r *Request) marshal() []byte {
	e := wire.Encoder{B: make([]byte, 0, 4096)}
	e.Num(r.Proto)
	e.Num(int64(r.Op))
	e.Strs(r.Argv)
	e.Strs(r.Env)
	e.Str(r.Dir)
	e.Num(r.Umask)
	for _, s := range r.Streams {
		e.Num(int64(s))
	}
	e.Flag(r.TTY)
	e.Flag(r.Foreground)
	e.Num(int64(r.Rows))
	e.Num(int64(r.Cols))
	e.Str(string(r.Termios))
	e.Str(r.Path)
	e.Str(r.Target)
	e.Num(int64(r.Meta.Mode))
	e.Num(int64(r.Meta.UID))
	e.Num(int64(r.Meta.GID))
	e.Num(r.Meta.MtimeNs)
	e.Dict(r.Meta.Xattrs)
	e.Str(string(r.Expect))
	e.Strs(r.Paths)
	return e.B
}

func (r *Request) unmarshal(b []byte) error {
	d := wire.Decoder{B: b}
	r.Proto = d.Num()
	if d.Err == nil && r.Proto != Protocol {
		return nil // nothing more is known of it
	}
	r.Op = Op(d.Num())
	r.Argv, r.Env, r.Dir, r.Umask = d.Strs(), d.Strs(), d.Str(), d.Num()
	for i := range r.Streams {
		r.Streams[i] = Stream(d.Num())
	}
	r.TTY, r.Foreground = d.Flag(), d.Flag()
	r.Rows, r.Cols = uint16(d.Num()), uint16(d.Num()) //nolint:gosec // the kernel's fields are 16 bits wide
	r.Termios = []byte(d.Str())
	r.Path, r.Target = d.Str(), d.Str()
	r.Meta.Mode, r.Meta.UID, r.Meta.GID = uint32(d.Num()), uint32(d.Num()), uint32(d.Num()) //nolint:gosec // written from uint32
	r.Meta.MtimeNs = d.Num()
	r.Meta.Xattrs = d.Dict()
	r.Expect = entry.Print(d.Str())
	r.Paths = d.Strs()
	return d.Err
}

// EventKind is the kind of a message from init.
type EventKind int64

// The events.
const (
	Started EventKind = iota + 1 // Pid; a terminal's master end is passed along
	Failed                       // the command could not be started: Code 126 or 127, or 125, and Text
	Stopped                      // the command was stopped by Signal
	Exited                       // Code, or Signal when that is not 0
	Reply                        // of a view operation
)

// Event is a message from init. Fault fields are empty when all is well.
type Event struct {
	Proto  int64
	Kind   EventKind
	Pid    int64
	Code   int64
	Signal int64
	Print  entry.Print

	FaultCode, FaultOp, FaultPath, Text, Hint string
}

// Marshal gives the bytes of an event for a pipe; Unmarshal reads them.
func (v *Event) Marshal() []byte { return v.marshal() }

// Unmarshal reads what Marshal gave.
func (v *Event) Unmarshal(b []byte) error { return v.unmarshal(b) }

func (v *Event) marshal() []byte {
	e := wire.Encoder{}
	for _, n := range []int64{v.Proto, int64(v.Kind), v.Pid, v.Code, v.Signal} {
		e.Num(n)
	}
	for _, s := range []string{string(v.Print), v.FaultCode, v.FaultOp, v.FaultPath, v.Text, v.Hint} {
		e.Str(s)
	}
	return e.B
}

func (v *Event) unmarshal(b []byte) error {
	d := wire.Decoder{B: b}
	v.Proto, v.Kind, v.Pid, v.Code, v.Signal = d.Num(), EventKind(d.Num()), d.Num(), d.Num(), d.Num()
	v.Print = entry.Print(d.Str())
	for _, s := range []*string{&v.FaultCode, &v.FaultOp, &v.FaultPath, &v.Text, &v.Hint} {
		*s = d.Str()
	}
	return d.Err
}

// Command is a client's message about its running command.
type Command struct {
	Signal     int64 // to send to the command's process group, 0 for none
	Resume     bool  // continue a stopped command
	Foreground bool  // and give it the terminal
}

func (c *Command) marshal() []byte {
	e := wire.Encoder{}
	e.Num(c.Signal)
	e.Flag(c.Resume)
	e.Flag(c.Foreground)
	return e.B
}

func (c *Command) unmarshal(b []byte) error {
	d := wire.Decoder{B: b}
	c.Signal, c.Resume, c.Foreground = d.Num(), d.Flag(), d.Flag()
	return d.Err
}
