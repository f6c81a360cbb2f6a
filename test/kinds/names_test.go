package kinds

import (
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

var unixTime = time.Unix(1_000_000_000, 7)

// odd are names that trip up programs.
var odd = []string{
	"new\nline", "\xff", "a\xc3", "-rf", "--", " lead", "trail ", "a:b", "a,b", `a\b`, "*", "?[x]", "!x", "#c", "a\tb", "\x1b[31m",
	"a'b", `"q"`, "$(x)", "`x`", "%s", "日本語", ".wh.x", ".wh..wh..opq", "~", "...", strings.Repeat("n", 255), strings.Repeat("ü", 127),
}

// names are stories of such names: of a file that is edited, one that is new,
// one that goes, and of a directory.
func names() []one {
	var out []one
	for _, n := range odd {
		name := n
		story := "name " + strings.ReplaceAll(n[:min(len(n), 100)], "\n", "N")
		out = append(out, one{
			name: strings.ToValidUTF8(story, "?"),
			host: func(dir string) error {
				return errors.Join(put(dir+"/"+name, "old\n", 0o644), os.Mkdir(dir+"/gone", 0o755), put(dir+"/gone/"+name, "gone\n", 0o644))
			},
			box: func(dir string) error {
				return errors.Join(put(dir+"/"+name, "new "+name+"\n", 0o644), os.Remove(dir+"/gone/"+name),
					os.Mkdir(dir+"/d", 0o755), os.Mkdir(dir+"/d/"+name, 0o755), os.Symlink(name, dir+"/d/"+name+"/l"))
			},
			want: []string{"modified " + name, "deleted gone/" + name, "added d", "added d/" + name, "added d/" + name + "/l"},
		})
	}
	part := strings.Repeat("deep", 60)
	const levels = 20 // 4,800 bytes
	at := func(n int) string { return strings.TrimSuffix(strings.Repeat(part+"/", n), "/") }
	want := []string{"modified " + at(levels) + "/edited", "added " + at(levels) + "/new"}
	out = append(out, one{
		name: "path longer than PATH_MAX",
		host: func(dir string) error {
			return inDeep(dir, part, levels, func(fd int) error { return putAt(fd, "edited", "old\n") })
		},
		box: func(dir string) error {
			return inDeep(dir, part, levels, func(fd int) error {
				return errors.Join(putAt(fd, "edited", "edited\n"), putAt(fd, "new", "new\n"))
			})
		},
		want: want,
	})
	return out
}

// inDeep makes directories in each other, one call for each.
func inDeep(dir, part string, levels int, do func(fd int) error) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range levels {
		if err != nil {
			return err
		}
		if err := unix.Mkdirat(fd, part, 0o755); err != nil && err != unix.EEXIST {
			return err
		}
		var next int
		next, err = unix.Openat(fd, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		_ = unix.Close(fd)
		fd = next
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

func putAt(dirfd int, name, text string) error {
	fd, err := unix.Openat(dirfd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(text))
	return errors.Join(err, unix.Close(fd))
}
