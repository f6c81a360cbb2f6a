package rplugin

import (
	"sandbox/engine"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
)

// request is the argument table of one call. It is taken apart by hand: a value
// of the wrong type must fail its own call, where the client library's decoder
// would end the connection.
type request map[string]any

func newRequest(args any) request {
	table, _ := args.(map[string]any)
	return table
}

func (r request) text(key string) string {
	switch v := r[key].(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}

func (r request) flag(key string) bool {
	v, _ := r[key].(bool)
	return v
}

func (r request) texts(key string) []string {
	list, _ := r[key].([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		if s, ok := v.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// need returns a text that the call cannot do without.
func (r request) need(key string) (string, error) {
	if v := r.text(key); v != "" {
		return v, nil
	}
	return "", fault.New(fault.Internal, "call", "", "argument "+key+" is missing", "")
}

// decisions reads the list of {path, hunks, host, sandbox}. A missing hunks
// list means the whole change; an empty one is refused, because "none of the
// blocks" must never turn into "all of them".
func (r request) decisions() ([]engine.Decision, error) {
	list, _ := r["decisions"].([]any)
	out := make([]engine.Decision, 0, len(list))
	for _, v := range list {
		d := newRequest(v)
		path, err := d.need("path")
		if err != nil {
			return nil, err
		}
		decision := engine.Decision{
			Path:    path,
			Host:    entry.Print(d.text("host")),
			Sandbox: entry.Print(d.text("sandbox")),
		}
		if d["hunks"] != nil {
			if decision.Hunks = d.texts("hunks"); len(decision.Hunks) == 0 {
				return nil, fault.New(fault.Internal, "call", path, "no block is named", "")
			}
		}
		out = append(out, decision)
	}
	if len(out) == 0 {
		return nil, fault.New(fault.Internal, "call", "", "no decision is given", "")
	}
	return out, nil
}
