package rplugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/neovim/go-client/nvim"

	"sandbox/engine"
	"sandbox/engine/fault"
)

// Protocol is the number that the Lua side and this side must agree on.
const Protocol = 1

// drainTime is how long Serve waits for operations under way when the editor is
// gone. An accept that is cut short is recovered by the next command, but it is
// kinder to let it end.
const drainTime = 10 * time.Second

// host is one editor's connection.
type host struct {
	engine  Backend
	storage string
	version string
	reviews *reviews
	watch   *watcher
	work    sync.WaitGroup
}

// Serve answers one editor over in and out until the editor closes them.
func Serve(ctx context.Context, in io.Reader, out io.WriteCloser, backend Backend, version string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v, err := nvim.New(in, out, out, log.New(os.Stderr, "", 0).Printf)
	if err != nil {
		return fault.Wrap(fault.Internal, "start the Neovim host", "", err)
	}
	push := newPusher(func(event table) error {
		return v.ExecLua(`require('sandbox.rpc').event(...)`, nil, event)
	})
	h := &host{engine: backend, version: version, reviews: newReviews()}
	if e, ok := any(backend).(*engine.Engine); ok {
		h.storage = e.Storage
		e.Notice = func(text string) { push.add("notice "+text, table{"kind": "notice", "text": text}) }
	}
	h.watch = newWatcher(h.storage, func(name string) {
		push.add(name, table{"kind": "changed", "name": name})
	})
	if err := errors.Join(
		v.RegisterHandler("hello", h.hello),
		v.RegisterHandler("call", func(id int, method string, args any) {
			h.work.Add(1)
			go func() {
				defer h.work.Done()
				result, err := h.call(ctx, method, newRequest(args))
				var failure any
				if err != nil {
					failure = errorTable(err)
				}
				// The editor may be gone by now; then nobody waits for the answer.
				_ = v.ExecLua(`require('sandbox.rpc').done(...)`, nil, id, failure, result)
			}()
		}),
	); err != nil {
		return fault.Wrap(fault.Internal, "start the Neovim host", "", err)
	}
	go push.run(ctx.Done())
	go h.watch.run(ctx)
	stop := context.AfterFunc(ctx, func() { _ = v.Close() })
	defer stop()
	err = v.Serve()
	h.drain()
	if ctx.Err() != nil {
		return nil
	}
	return fault.Wrap(fault.Failed, "talk to Neovim", "", err)
}

// hello is the handshake. It touches no disk, because the editor waits for it.
func (h *host) hello() (table, error) {
	return table{
		"protocol": Protocol,
		"version":  h.version,
		"storage":  h.storage,
		"pid":      os.Getpid(),
		"root":     os.Geteuid() == 0,
	}, nil
}

// drain waits for the operations under way, but not for ever.
func (h *host) drain() {
	done := make(chan struct{})
	go func() { h.work.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drainTime):
	}
}

// call carries out one wish. A panic becomes the answer of that one call; the
// sandboxes and the other calls do not care.
func (h *host) call(ctx context.Context, method string, r request) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Printf("%s: panic: %v\n%s", method, p, debug.Stack())
			result, err = nil, fault.New(fault.Internal, method, "", fmt.Sprint("internal error: ", p),
				"Please report it with the text in :messages; nothing else is affected.")
		}
	}()
	handler, ok := map[string]func(context.Context, request) (any, error){
		"sandboxes":      h.sandboxes,
		"project_name":   h.projectName,
		"resolve_review": h.resolveReview,
		"review_open":    h.reviewOpen,
		"review_close":   h.reviewClose,
		"file":           h.file,
		"accept":         h.accept,
		"reject":         h.reject,
		"undo":           h.undo,
		"read":           h.read,
		"write":          h.write,
		"saved":          h.saved,
	}[method]
	if !ok {
		return nil, fault.New(fault.Internal, "call", "", "unknown method "+method,
			"The plugin and the binary are of different versions; build the binary again.")
	}
	return handler(ctx, r)
}
