package kinds

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// leaf is all that is compared of one entry. Not compared are the times of
// directories, which move with every entry that comes or goes, and those of
// entries that did not change otherwise.
type leaf struct {
	Path   []byte // below the project; any bytes
	Text   string // type, mode, owner, content, attributes
	Time   string // of all but directories
	Link   uint64 // the inode, where it has more than one name
	Blocks int64  // of 512 bytes, of files that are larger than a megabyte
}

// tree is a project by path.
type tree map[string]leaf

// printTree writes one line of JSON for each entry below dir. It opens each
// directory from the one above, so a path may be longer than PATH_MAX, and each
// without following a link.
func printTree(w io.Writer, dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if err := printDir(json.NewEncoder(out), fd, ""); err != nil {
		return err
	}
	return out.Flush()
}

func printDir(out *json.Encoder, fd int, at string) error {
	defer unix.Close(fd)
	names, err := entry.ReadDir(fd)
	if err != nil {
		return err
	}
	for _, n := range names {
		p := path.Join(at, n.Name)
		l, isDir, err := look(fd, n.Name)
		if err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
		l.Path = []byte(p)
		if err := out.Encode(l); err != nil {
			return err
		}
		if !isDir {
			continue
		}
		sub, err := unix.Openat(fd, n.Name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err == unix.EACCES { // a directory that nobody may read: its names are opened for a moment
			continue
		}
		if err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
		if err := printDir(out, sub, p); err != nil {
			return err
		}
	}
	return nil
}

// look describes one entry.
func look(dirfd int, name string) (l leaf, isDir bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dirfd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return l, false, err
	}
	text := fmt.Sprintf("%o %d:%d", st.Mode, st.Uid, st.Gid)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		isDir = true
	case unix.S_IFREG:
		sum, err := content(dirfd, name)
		if err != nil {
			return l, false, err
		}
		text += fmt.Sprintf(" %d bytes %s", st.Size, sum)
		if st.Size > 1<<20 {
			l.Blocks = st.Blocks
		}
	case unix.S_IFLNK:
		buf := make([]byte, 4096)
		n, err := unix.Readlinkat(dirfd, name, buf)
		if err != nil {
			return l, false, err
		}
		text += fmt.Sprintf(" -> %q", buf[:n])
	case unix.S_IFCHR, unix.S_IFBLK:
		text += fmt.Sprintf(" dev %d", st.Rdev)
	}
	if !isDir {
		l.Time = fmt.Sprintf("%d.%09d", st.Mtim.Sec, st.Mtim.Nsec)
		if st.Nlink > 1 {
			l.Link = st.Ino
		}
	}
	attrs, err := xattrs(dirfd, name)
	l.Text = text + attrs
	return l, isDir, err
}

func content(dirfd int, name string) (string, error) {
	fd, err := unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.EACCES {
		return "unreadable", nil
	}
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	h := sha256.New()
	if info, err := f.Stat(); err == nil && info.Size() == sparseSize { // only where its data begins and what it is
		start, err := f.Seek(0, unix.SEEK_DATA)
		_, herr := io.CopyN(h, f, 1<<16)
		return fmt.Sprintf("from %d %x", start, h.Sum(nil)), errors.Join(err, herr)
	}
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

func xattrs(dirfd int, name string) (string, error) {
	at := "/proc/self/fd/" + strconv.Itoa(dirfd) + "/" + name
	buf := make([]byte, 1<<16)
	n, err := unix.Llistxattr(at, buf)
	if err == unix.EOPNOTSUPP || err == unix.ENOENT && len(at) > 4000 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	names := strings.Split(strings.Trim(string(buf[:n]), "\x00"), "\x00")
	sort.Strings(names)
	out := ""
	for _, key := range names {
		if key == "" || strings.HasPrefix(key, "trusted.") || strings.Contains(key, ".overlay.") {
			continue // trusted ones are not seen by a program in a sandbox
		}
		n, err := unix.Lgetxattr(at, key, buf)
		if err == unix.ENODATA || err == unix.EACCES {
			continue
		}
		if err != nil {
			return "", err
		}
		out += fmt.Sprintf(" %s=%q", key, buf[:n])
	}
	return out, nil
}

func parseTree(t testing.TB, text string) tree {
	t.Helper()
	out := tree{}
	for line := range strings.Lines(text) {
		var l leaf
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %.300q", err, line)
		}
		out[string(l.Path)] = l
	}
	return out
}

// links gives, for every path with several names, all of them.
func (t tree) links() map[string]string {
	groups := map[uint64][]string{}
	for p, l := range t {
		if l.Link != 0 {
			groups[l.Link] = append(groups[l.Link], p)
		}
	}
	out := map[string]string{}
	for _, g := range groups {
		slices.Sort(g)
		for _, p := range g {
			out[p] = strings.Join(g, " = ")
		}
	}
	return out
}

// dissolve takes the links off some paths.
func (t tree) dissolve(paths map[string]bool) {
	for p := range paths {
		if l, ok := t[p]; ok {
			l.Link = 0
			t[p] = l
		}
	}
}

// same compares two trees; but names paths of which the third one is wanted,
// timed those whose times count.
func same(t testing.TB, what string, got, want tree, timed, but map[string]bool, instead tree) {
	t.Helper()
	expect := tree{}
	for p, l := range want {
		expect[p] = l
	}
	for p := range but {
		delete(expect, p)
		if l, ok := instead[p]; ok {
			expect[p] = l
		}
	}
	var bad []string
	for p, l := range expect {
		g, there := got[p]
		switch {
		case !there:
			bad = append(bad, fmt.Sprintf("%q is missing, want %s", p, l.Text))
		case g.Text != l.Text:
			bad = append(bad, fmt.Sprintf("%q is %s\n\t\twant %s", p, g.Text, l.Text))
		case timed[p] && g.Time != l.Time:
			bad = append(bad, fmt.Sprintf("%q is of %s, want %s", p, g.Time, l.Time))
		case g.Blocks > l.Blocks+1024:
			bad = append(bad, fmt.Sprintf("%q takes %d blocks, want %d", p, g.Blocks, l.Blocks))
		}
	}
	for p, l := range got {
		if _, wanted := expect[p]; !wanted {
			bad = append(bad, fmt.Sprintf("%q should not be there: %s", p, l.Text))
		}
	}
	have, need := got.links(), expect.links()
	for p := range expect {
		if have[p] != need[p] && !but[p] {
			bad = append(bad, fmt.Sprintf("%q is linked as %q, want %q", p, have[p], need[p]))
		}
	}
	slices.Sort(bad)
	for i, b := range bad {
		if i == 40 {
			t.Errorf("%s: and %d more", what, len(bad)-i)
			break
		}
		t.Errorf("%s: %s", what, b)
	}
}

// openAll lets the cleanup into every directory.
func openAll(dir string) {
	_ = unix.Chmod(dir, 0o700)
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		if n.IsDir() && len(dir) < 3000 {
			openAll(path.Join(dir, n.Name()))
		}
	}
}
