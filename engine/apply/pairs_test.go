package apply_test

import (
	"strings"
	"testing"
)

// Every type becomes every other one; the host gets what the sandbox sees, and
// each operation can be taken back.
var kinds = map[string]string{
	"none":     "",
	"file":     "printf 'one\\r\\ntwo' > $1; chmod 640 $1",
	"script":   "printf '#!/bin/sh\\n' > $1; chmod 755 $1",
	"empty":    ": > $1",
	"binary":   "printf 'a\\0b\\377' > $1",
	"dir":      "mkdir $1; echo x > $1/in; mkdir $1/sub; echo y > $1/sub/deep; ln -s in $1/sub/link",
	"emptydir": "mkdir -m 711 $1",
	"symlink":  "ln -s file-target $1",
	"dangling": "ln -s /no/such/place $1",
	"dirlink":  "ln -s a-directory $1",
	"fifo":     "mkfifo -m 622 $1",
}

func pairs() (host, box string) {
	var h, b strings.Builder
	h.WriteString("mkdir a-directory; echo safe > a-directory/in; echo t > file-target\n")
	for from, mk := range kinds {
		for to, re := range kinds {
			name := from + "-" + to
			h.WriteString("set -- " + name + "; " + mk + "\n")
			if from != to {
				b.WriteString("set -- " + name + "; rm -rf $1; " + re + "\n")
			}
		}
	}
	return h.String(), b.String()
}

func TestEveryTypeBecomesEveryOther(t *testing.T) {
	host, box := pairs()
	story(t, host, func(t *testing.T, r *rig) {
		before := r.host(t)
		r.Sh(t, box)
		seen := r.box(t)

		res, err := r.accept(r.scan(t))
		must(t, err)
		if len(res.Skipped) > 0 {
			t.Errorf("skipped: %v", res.Skipped)
		}
		equal(t, "host and sandbox after accept", r.host(t), seen)
		equal(t, "the sandbox before and after accept", r.box(t), seen)
		if rows := r.rows(t); rows != "" {
			t.Errorf("left after accept:\n%s", rows)
		}

		_, err = r.undo()
		must(t, err)
		equal(t, "the host before and after undo", r.host(t), before)
		equal(t, "the sandbox before and after undo", r.box(t), seen)

		res, err = r.reject(r.scan(t))
		must(t, err)
		if len(res.Skipped) > 0 {
			t.Errorf("skipped: %v", res.Skipped)
		}
		equal(t, "the sandbox and the host after reject", r.box(t), before)
		equal(t, "the host before and after reject", r.host(t), before)
		if rows := r.rows(t); rows != "" {
			t.Errorf("left after reject:\n%s", rows)
		}
		must(t, r.Sync())
		equal(t, "the sandbox and the host after reject and sync", r.box(t), before)

		_, err = r.undo()
		must(t, err)
		equal(t, "the sandbox before reject and after undo", r.box(t), seen)
		equal(t, "the host before and after undo of reject", r.host(t), before)
	})
}
