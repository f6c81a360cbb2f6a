package apply

import (
	"strings"
	"testing"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/fault"
	"sandbox/engine/view"
)

const oldFile, newFile = entry.Print("file:old"), entry.Print("file:new")

func dirEntry() entry.Entry  { return entry.Entry{Type: entry.Dir, Mode: 0o755} }
func fileEntry() entry.Entry { return entry.Entry{Type: entry.File, Mode: 0o644, Size: 1} }

func added(path string, e entry.Entry) *item {
	it := &item{change: &changes.Change{Path: path, Kind: changes.Added}, hostAt: path, box: e, boxPrint: newFile, hostPrint: entry.PrintNone}
	it.host.Type, it.here.Type = entry.None, entry.None
	if e.Type == entry.Dir {
		it.boxPrint = "dir"
	}
	it.boxMeta = view.Meta{Mode: e.Mode}
	return it
}

func modified(path string) *item {
	return &item{
		change: &changes.Change{Path: path, Kind: changes.Modified}, hostAt: path,
		host: fileEntry(), box: fileEntry(), hostPrint: oldFile, boxPrint: newFile,
	}
}

func deleted(path string, e entry.Entry) *item {
	it := &item{change: &changes.Change{Path: path, Kind: changes.Deleted}, hostAt: path, host: e, hostPrint: oldFile, boxPrint: entry.PrintNone}
	it.box.Type = entry.None
	if e.Type == entry.Dir {
		it.hostPrint = "dir"
	}
	return it
}

func renamed(from, to string) *item {
	it := &item{
		change: &changes.Change{Path: to, From: from, Kind: changes.Renamed, Redirect: true}, hostAt: from,
		host: dirEntry(), box: dirEntry(), hostPrint: "dir", boxPrint: "dir",
	}
	it.here.Type = entry.None
	return it
}

func typeChanged(path string, host, box entry.Entry) *item {
	it := &item{change: &changes.Change{Path: path, Kind: changes.TypeChanged}, hostAt: path, host: host, box: box, hostPrint: oldFile, boxPrint: newFile}
	if host.Type == entry.Dir {
		it.hostPrint = "dir"
	}
	if box.Type == entry.Dir {
		it.boxPrint = "dir"
	}
	return it
}

func show(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(string(s.Do))
		if s.From != "" {
			b.WriteString(" " + string(s.From))
		}
		b.WriteString(" " + string(s.Path))
		if s.Implied {
			b.WriteString(" implied")
		}
		b.WriteString("\n")
	}
	return strings.ReplaceAll(b.String(), ".sandbox-tmp-park-", "#")
}

func TestPlanOfAccept(t *testing.T) {
	p := func(path string) string { return "/p" + path }
	base := func() world {
		return world{
			host: map[string]entry.Entry{"/p": dirEntry(), "/p/d": dirEntry(), "/p/file": fileEntry(), "/p/link": {Type: entry.Symlink}},
			box:  map[string]dirFacts{"/p/n": {entry: dirEntry(), meta: view.Meta{Mode: 0o711}}, "/p/n/o": {entry: dirEntry()}, "/p/file": {entry: dirEntry()}, "/p/link": {entry: dirEntry()}},
			listing: map[string]map[string]entry.Entry{
				"/p/d": {"/p/d/x": fileEntry(), "/p/d/sub": dirEntry(), "/p/d/sub/y": fileEntry()},
			},
			tree: changes.Tree{Storage: "/s/box", Masks: []string{"/s"}},
		}
	}
	wholeD := []*item{deleted("/p/d", dirEntry()), deleted("/p/d/sub", dirEntry()), deleted("/p/d/sub/y", fileEntry()), deleted("/p/d/x", fileEntry())}
	conflict := modified(p("/c"))
	conflict.change.Conflict = true
	socket := added(p("/s"), entry.Entry{Type: entry.Socket})
	device := added(p("/dev"), entry.Entry{Type: entry.Char})
	for name, c := range map[string]struct {
		items   []*item
		opt     Options
		want    string
		skipped int
		code    fault.Code
	}{
		"parents are implied":             {items: []*item{added(p("/n/o/f"), fileEntry())}, want: "make /p/n implied\nmake /p/n/o implied\nmake /p/n/o/f\n"},
		"chosen parents are not":          {items: []*item{added(p("/n/f"), fileEntry()), added(p("/n"), dirEntry())}, want: "make /p/n\nmake /p/n/f\n"},
		"a file where a directory should": {items: []*item{added(p("/file/f"), fileEntry())}, code: fault.Conflict},
		"a link where a directory should": {items: []*item{added(p("/link/f"), fileEntry())}, code: fault.Conflict},
		"skipped instead":                 {items: []*item{added(p("/link/f"), fileEntry()), modified(p("/m"))}, opt: Options{SkipConflicts: true}, want: "make /p/m\n", skipped: 1},
		"a link is replaced first":        {items: []*item{added(p("/link/f"), fileEntry()), typeChanged(p("/link"), entry.Entry{Type: entry.Symlink}, dirEntry())}, want: "make /p/link\nmake /p/link/f\n"},
		"a tree goes in one step":         {items: wholeD, want: "remove /p/d\n"},
		"a tree of which something stays": {items: wholeD[:3], want: "remove /p/d/sub\n", skipped: 1},
		"one file of a tree":              {items: wholeD[2:3], want: "remove /p/d/sub/y\n"},
		"a tree becomes a file":           {items: append([]*item{typeChanged("/p/d", dirEntry(), fileEntry())}, wholeD[1:]...), want: "make /p/d\n"},
		"but not when something stays":    {items: append([]*item{typeChanged("/p/d", dirEntry(), fileEntry())}, wholeD[1:3]...), want: "remove /p/d/sub\n", skipped: 1},
		"conflict":                        {items: []*item{modified(p("/m")), conflict}, code: fault.Conflict},
		"conflict skipped":                {items: []*item{modified(p("/m")), conflict}, opt: Options{SkipConflicts: true}, want: "make /p/m\n", skipped: 1},
		"a socket and a device":           {items: []*item{socket, device, modified(p("/m"))}, want: "make /p/m\n", skipped: 2},
		"a device that is asked for":      {items: []*item{device}, opt: Options{Special: true}, want: "make /p/dev\n"},
		"swap":                            {items: []*item{renamed("/p/a", "/p/b"), renamed("/p/b", "/p/a")}, want: "move /p/a /p/#0\nmove /p/b /p/#1\nmove /p/#1 /p/a\nmove /p/#0 /p/b\n"},
		"a renamed directory in another":  {items: []*item{renamed("/p/a", "/p/z"), renamed("/p/a/s", "/p/c")}, want: "move /p/a/s /p/#0\nmove /p/a /p/#1\nmove /p/#0 /p/c\nmove /p/#1 /p/z\n"},
		"out of a tree that goes":         {items: append([]*item{renamed("/p/d/sub", "/p/kept")}, wholeD[0], wholeD[3]), want: "move /p/d/sub /p/#0\nremove /p/d\nmove /p/#0 /p/kept\n"},
		"the storage":                     {items: []*item{modified("/s/x")}, code: fault.Failed},
		"what holds the storage":          {items: []*item{deleted("/", dirEntry())}, code: fault.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := planAccept(c.items, base(), c.opt)
			if fault.CodeOf(err) != c.code {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			if show(got.steps) != c.want {
				t.Errorf("got:\n%swant:\n%s", show(got.steps), c.want)
			}
			if len(got.skipped) != c.skipped {
				t.Errorf("skipped %v", got.skipped)
			}
		})
	}
}

func TestPathsInTheJournal(t *testing.T) {
	for _, path := range []string{"/a/b", "/\xff\xfe", "/ü\n\"", "/{\"bytes\":1}", ""} {
		data, err := pathText(path).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back pathText
		if err := back.UnmarshalJSON(data); err != nil || string(back) != path {
			t.Errorf("%q came back as %q: %v", path, back, err)
		}
	}
}

func FuzzPathText(f *testing.F) {
	f.Add("/a")
	f.Add("\xff")
	f.Fuzz(func(t *testing.T, path string) {
		data, err := pathText(path).MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back pathText
		if err := back.UnmarshalJSON(data); err != nil || string(back) != path {
			t.Errorf("%q came back as %q: %v", path, back, err)
		}
	})
}
