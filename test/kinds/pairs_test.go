package kinds

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Every kind of entry becomes every other one, and itself: "opaque" is a
// directory that was removed and made again.
var kinds = []string{
	"nothing", "file", "empty", "symlink", "dangling", "dirlink",
	"directory", "emptydir", "opaque", "fifo", "socket", "device",
}

func pairs() []one {
	var out []one
	for _, from := range kinds {
		for _, to := range kinds {
			o := one{name: from + "-" + to}
			o.host = func(dir string) error {
				if err := os.WriteFile(filepath.Join(dir, "target"), []byte("target of "+o.name), 0o644); err != nil { //nolint:gosec // a project like others
					return err
				}
				return makeKind(dir, from, "host", o.name)
			}
			o.box = func(dir string) error { return become(dir, from, to, o.name) }
			o.want = rowsOf(from, to)
			if from == "device" || to == "device" {
				o.mode = "P" // an ordinary user can make none
			}
			switch same := from == to; {
			case same && to == "device":
				spares(&o)
			case same:
			case to == "socket":
				o.never = []string{"x"}
				if isFull(from) {
					o.never = append(o.never, "x/both", "x/host", "x/sub", "x/sub/host", "x/sub/link")
				}
			case to == "device":
				o.unasked, o.lost = []string{"x"}, []string{"x"}
				if isFull(from) {
					o.unasked = append(o.unasked, "x/both", "x/host", "x/sub", "x/sub/host", "x/sub/link")
				}
			}
			out = append(out, o)
		}
	}
	return out
}

// spares gives a story devices of the host, which the others move away: in a
// sandbox the kernel lets nobody make one.
func spares(o *one) {
	host := o.host
	o.host = func(dir string) error {
		err := host(dir)
		for _, kind := range kinds {
			if kind != "device" {
				err = errors.Join(err, unix.Mknod(filepath.Join(dir, "spare-"+kind), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))))
			}
		}
		return err
	}
	for _, kind := range kinds {
		if kind != "device" {
			o.want = append(o.want, "deleted spare-"+kind)
		}
	}
}

func isFull(kind string) bool { return kind == "directory" || kind == "opaque" }

// makeKind makes the entry x of a kind in dir. The two sides differ in content.
func makeKind(dir, kind, side, name string) error {
	x := filepath.Join(dir, "x")
	text := []byte(side + " of " + name + "\n")
	switch kind {
	case "nothing":
		return nil
	case "file":
		return os.WriteFile(x, text, 0o640)
	case "empty":
		return os.WriteFile(x, nil, 0o600)
	case "symlink":
		to := "target"
		if side == "box" {
			to = "./target"
		}
		return os.Symlink(to, x)
	case "dangling":
		return os.Symlink("/no/such/"+side, x)
	case "directory", "opaque":
		return errors.Join(
			os.Mkdir(x, 0o750), os.Mkdir(x+"/sub", 0o711),
			os.WriteFile(x+"/both", text, 0o644), os.WriteFile(x+"/"+side, text, 0o644),
			os.WriteFile(x+"/sub/"+side, text, 0o600), os.Symlink("../"+name, x+"/sub/link"))
	case "dirlink":
		return os.Symlink(map[string]string{"host": "..", "box": "../."}[side], x)
	case "emptydir":
		return os.Mkdir(x, 0o700)
	case "fifo":
		return unix.Mkfifo(x, 0o644)
	case "socket":
		return unix.Mknod(x, unix.S_IFSOCK|0o644, 0)
	case "device":
		return unix.Mknod(x, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3)))
	}
	return errors.New("no kind " + kind)
}

// become does in the sandbox what makes one kind another.
func become(dir, from, to, name string) error {
	x := filepath.Join(dir, "x")
	switch {
	case to == "directory" && isFull(from): // what was there is edited
		return errors.Join(
			os.WriteFile(x+"/both", []byte("box of "+name+"\n"), 0o644), os.WriteFile(x+"/box", []byte("new of "+name+"\n"), 0o644),
			os.Remove(x+"/host"), os.Chmod(x+"/sub", 0o755))
	case from == to && (to == "device" || to == "socket"):
		return nil
	case from == "fifo" && to == "fifo":
		return os.Chmod(x, 0o600)
	}
	if err := os.RemoveAll(x); err != nil {
		return err
	}
	if to == "device" {
		return os.Rename(filepath.Join(filepath.Dir(dir), "device-device", "spare-"+from), x)
	}
	return makeKind(dir, to, "box", name)
}

// rowsOf is what status has to say.
func rowsOf(from, to string) []string {
	type class struct{ kind, text string }
	of := map[string]class{
		"file": {"file", "f"}, "empty": {"file", ""}, "symlink": {"link", "l"}, "dangling": {"link", "d"},
		"directory": {"dir", "full"}, "opaque": {"dir", "full"}, "emptydir": {"dir", ""}, "dirlink": {"link", ".."}, "fifo": {"fifo", ""}, "socket": {"socket", ""}, "device": {"device", ""},
	}
	a, b := of[from], of[to]
	below := func(kind, side string) []string {
		return []string{kind + " x/both", kind + " x/" + side, kind + " x/sub", kind + " x/sub/" + side, kind + " x/sub/link"}
	}
	switch {
	case from == "nothing" && to == "nothing":
		return nil
	case from == "nothing", to == "nothing", a.kind != b.kind:
		var rows []string
		switch {
		case from == "nothing":
			rows = []string{"added x"}
		case to == "nothing":
			rows = []string{"deleted x"}
		default:
			rows = []string{"type_changed x"}
		}
		if a.text == "full" {
			rows = append(rows, below("deleted", "host")...)
		}
		if b.text == "full" {
			rows = append(rows, below("added", "box")...)
		}
		return rows
	case a.kind == "dir" && a.text != b.text: // an empty one and a full one
		rows := []string{"attributes x"}
		if a.text == "full" {
			return append(rows, below("deleted", "host")...)
		}
		return append(rows, below("added", "box")...)
	case from == "emptydir":
		return nil
	case a.kind == "dir" && to == "directory":
		return []string{"modified x/both", "added x/box", "deleted x/host", "attributes x/sub"}
	case a.kind == "dir":
		return []string{"modified x/both", "deleted x/host", "added x/box", "deleted x/sub/host", "added x/sub/box"}
	case from == "fifo":
		return []string{"attributes x"}
	case a.kind == "socket", a.kind == "device", from == "empty" && to == "empty":
		return nil
	}
	return []string{"modified x"}
}
