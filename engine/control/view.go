package control

import (
	"errors"
	"io"
	"os"
	"strconv"
	"sync"

	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/view"
)

// View is the merged view of a running sandbox, changed by its init. It is
// safe for several goroutines; the calls take turns.
type View struct {
	mu   sync.Mutex // protects the order of requests and replies on conn
	conn *Conn
}

var _ view.View = (*View)(nil)

// NewView takes over a connection on which nothing was sent yet.
func NewView(c *Conn) *View { return &View{conn: c} }

// Close ends the connection.
func (v *View) Close() error { return v.conn.Close() }

func (v *View) call(r Request, fds ...int) (Event, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return Call(v.conn, r, fds...)
}

// Call sends one request that is answered by one Reply, and turns a fault in
// the reply into the *fault.Error that it was.
func Call(c *Conn, r Request, fds ...int) (Event, error) {
	r.Proto = Protocol
	var ev Event
	err := c.Send(&r, fds...)
	if err == nil {
		var got []int
		got, err = c.Receive(&ev)
		closeAll(got)
	}
	if err != nil {
		return ev, Lost(err)
	}
	return ev, ev.Fault()
}

const ended = "its init ended"

// IsLost reports whether an error is one of Lost.
func IsLost(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Reason == ended
}

// Lost is the error for a connection that broke.
func Lost(err error) error {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return &fault.Error{
		Code: fault.Failed, Op: "talk to the sandbox", Reason: ended, Err: err,
		Hint: "Run the command again; init.log in the sandbox's storage says more.",
	}
}

// Fault returns the error that an event carries, nil when it carries none.
func (v *Event) Fault() error {
	if v.Proto != Protocol {
		return &fault.Error{
			Code: fault.Failed, Op: "talk to the sandbox",
			Reason: "it was started by another version of this program (protocol " + strconv.FormatInt(v.Proto, 10) + ", this is " + strconv.Itoa(Protocol) + ")",
			Hint:   "Stop it with `sandbox stop NAME` and run the command again.",
		}
	}
	if v.FaultCode == "" {
		return nil
	}
	return fault.New(fault.Code(v.FaultCode), v.FaultOp, v.FaultPath, v.Text, v.Hint)
}

// SetFault puts an error into an event.
func (v *Event) SetFault(err error) {
	if err == nil {
		return
	}
	v.FaultCode, v.Text, v.Hint = string(fault.CodeOf(err)), err.Error(), fault.HintOf(err)
	var e *fault.Error
	if errors.As(err, &e) {
		v.FaultOp, v.FaultPath = e.Op, e.Path
		v.Text = e.Reason
		if e.Err != nil {
			if v.Text != "" {
				v.Text += ": "
			}
			v.Text += e.Err.Error()
		}
	}
}

// Print implements view.View.
func (v *View) Print(path string) (entry.Print, error) {
	ev, err := v.call(Request{Op: OpPrint, Path: path})
	return ev.Print, err
}

// Write implements view.View. content is read by init from offset 0.
func (v *View) Write(path string, content *os.File, meta view.Meta, expect entry.Print) error {
	_, err := v.call(Request{Op: OpWrite, Path: path, Meta: meta, Expect: expect}, int(content.Fd()))
	return err
}

// Symlink implements view.View.
func (v *View) Symlink(path, target string, meta view.Meta, expect entry.Print) error {
	_, err := v.call(Request{Op: OpSymlink, Path: path, Target: target, Meta: meta, Expect: expect})
	return err
}

// Mkdir implements view.View.
func (v *View) Mkdir(path string, meta view.Meta, expect entry.Print) error {
	_, err := v.call(Request{Op: OpMkdir, Path: path, Meta: meta, Expect: expect})
	return err
}

// Mknod implements view.View.
func (v *View) Mknod(path string, t entry.Type, meta view.Meta, expect entry.Print) error {
	_, err := v.call(Request{Op: OpMknod, Path: path, Target: string(t), Meta: meta, Expect: expect})
	return err
}

// Remove implements view.View.
func (v *View) Remove(path string, expect entry.Print) error {
	_, err := v.call(Request{Op: OpRemove, Path: path, Expect: expect})
	return err
}

// Setattr implements view.View.
func (v *View) Setattr(path string, meta view.Meta) error {
	_, err := v.call(Request{Op: OpSetattr, Path: path, Meta: meta})
	return err
}

// Sync implements view.View.
func (v *View) Sync(paths ...string) error {
	_, err := v.call(Request{Op: OpSync, Paths: paths})
	return err
}
