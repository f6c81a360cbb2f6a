package changes

import (
	"bytes"
	"maps"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// dirAttrs is what overlayfs and the scan keep on an upper directory.
type dirAttrs struct {
	opaque   bool   // hides the lower directory of that name
	xwhite   bool   // may hold whiteouts that are files with an xattr (Linux 6.7)
	redirect string // the lower directory has another name
	marks    marks  // see MarkAccepted
	xattrs   map[string][]byte
}

// readDirAttrs reads them from an open upper directory. Only names of exactly
// this prefix count: what a program inside sets is stored under another one
// (user.overlay.overlay.…), and the other mode's names are plain data.
func readDirAttrs(fd int, prefix string) (dirAttrs, error) {
	var a dirAttrs
	names, err := listNames(fd)
	if err != nil {
		return a, err
	}
	for name := range strings.SplitSeq(names, "\x00") {
		short, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		switch short {
		case "opaque":
			value := getValue(fd, name)
			a.opaque = string(value) == "y"
			a.xwhite = string(value) == "x"
		case "redirect":
			a.redirect = string(getValue(fd, name))
		case markName:
			a.marks = parseMarks(getValue(fd, name))
		}
	}
	if hasKept(names) {
		a.xattrs, err = entry.XattrsFd(fd)
	}
	return a, err
}

func hasKept(names string) bool {
	for name := range strings.SplitSeq(names, "\x00") {
		if name != "" && entry.KeptXattr(name) {
			return true
		}
	}
	return false
}

func listNames(fd int) (string, error) {
	buf := make([]byte, 1024)
	for {
		n, err := unix.Flistxattr(fd, buf)
		switch err {
		case nil:
			return string(buf[:n]), nil
		case unix.EINTR:
		case unix.ERANGE:
			buf = make([]byte, len(buf)*8)
		case unix.EOPNOTSUPP:
			return "", nil
		default:
			return "", err
		}
	}
}

func getValue(fd int, name string) []byte {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Fgetxattr(fd, name, buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}

func sameXattrs(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, bytes.Equal) }

// redirectTarget gives the host path of a redirect found on a directory whose
// parent's content is at parentHost ("" when the parent has none). The kernel
// writes either one name or an absolute path counted from the layer's root;
// anything else was not written by it and is refused.
func redirectTarget(redirect, layerHost, parentHost string) (string, bool) {
	if redirect == "" || len(redirect) >= unix.PathMax {
		return "", false
	}
	if redirect[0] != '/' {
		if parentHost == "" || strings.IndexByte(redirect, '/') >= 0 || !plainName(redirect) {
			return "", false
		}
		return join(parentHost, redirect), true
	}
	out := layerHost
	for part := range strings.SplitSeq(redirect[1:], "/") {
		if !plainName(part) {
			return "", false
		}
		out = join(out, part)
	}
	return out, true
}

func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && strings.IndexByte(s, 0) < 0
}
