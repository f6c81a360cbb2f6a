package rplugin

import "sync"

// maxPending bounds the events that wait for a busy editor. They coalesce by
// name, so only this many different sandboxes can be waiting.
const maxPending = 64

// pusher tells the editor about things that it did not ask for. An editor at a
// prompt does not answer, so events wait here, the newest of each name, in no
// one's way: add never blocks and holds no lock of anyone else's.
type pusher struct {
	send func(event table) error

	mu      sync.Mutex
	pending map[string]table
	order   []string
	wake    chan struct{}
}

func newPusher(send func(table) error) *pusher {
	return &pusher{send: send, pending: map[string]table{}, wake: make(chan struct{}, 1)}
}

// add queues an event, replacing one of the same key that still waits. Past the
// bound the event is dropped: the editor is told on its next refresh.
func (p *pusher) add(key string, event table) {
	p.mu.Lock()
	if _, waits := p.pending[key]; !waits {
		if len(p.order) == maxPending {
			p.mu.Unlock()
			return
		}
		p.order = append(p.order, key)
	}
	p.pending[key] = event
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *pusher) take() table {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.order) == 0 {
		return nil
	}
	key := p.order[0]
	p.order = p.order[1:]
	event := p.pending[key]
	delete(p.pending, key)
	return event
}

// run sends until done is closed or the editor is gone.
func (p *pusher) run(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-p.wake:
		}
		for event := p.take(); event != nil; event = p.take() {
			if p.send(event) != nil {
				return
			}
		}
	}
}
