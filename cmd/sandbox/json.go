package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"sandbox/engine/fault"
)

// document is the one JSON object that --json prints.
type document map[string]any

// answer prints the document. It is printed once: a later error goes to
// standard error only.
func (a *app) answer(d document) { a.answerRows(d, "", 0, nil) }

// answerRows is answer for a document with one long list, which is written row
// by row and never held as a whole.
func (a *app) answerRows(d document, key string, n int, row func(i int) document) {
	if _, ok := d["ok"]; !ok {
		d["ok"] = true
	}
	if len(a.notices) > 0 {
		d["notices"] = a.notices
	}
	a.answered = true
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	if key == "" {
		_ = enc.Encode(d) // maps of plain values: only the writer can fail, and finish says so
		return
	}
	var line bytes.Buffer
	enc = json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	fmt.Fprintf(a.out, "{%q:[", key)
	for i := range n {
		line.Reset()
		_ = enc.Encode(row(i))
		if i > 0 {
			_ = a.out.WriteByte(',')
		}
		_, _ = a.out.Write(bytes.TrimSuffix(line.Bytes(), []byte("\n")))
	}
	_, _ = a.out.WriteString("],")
	line.Reset()
	_ = enc.Encode(d)
	_, _ = a.out.Write(line.Bytes()[1:])
}

// errorDocument is the answer of a call that failed.
func errorDocument(err error) document {
	e := document{"code": fault.CodeOf(err), "message": err.Error()}
	putText(e, "message", err.Error())
	if hint := fault.HintOf(err); hint != "" {
		putText(e, "hint", hint)
	}
	var fe *fault.Error
	if errors.As(err, &fe) {
		if fe.Op != "" {
			e["op"] = fe.Op
		}
		if fe.Path != "" {
			putText(e, "path", fe.Path)
		}
	}
	return document{"ok": false, "error": e}
}

// putText sets a key to a text that may be any bytes. What is not UTF-8 is also
// given exactly, in base64, as KEY_bytes.
func putText(d document, key, text string) {
	d[key] = text
	if !utf8.ValidString(text) {
		d[key+"_bytes"] = base64.StdEncoding.EncodeToString([]byte(text))
	}
}
