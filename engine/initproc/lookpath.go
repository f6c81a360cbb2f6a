package initproc

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// lookPath finds a program as execvp(3) does: in dir when the name has a
// slash, else along the PATH of the command's own environment. A file that is
// there but not executable is EACCES, so that the exit code is 126.
func lookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", unix.ENOENT
	}
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			return filepath.Join(dir, name), nil
		}
		return name, nil
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	found := error(unix.ENOENT)
	for d := range strings.SplitSeq(path, ":") {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		p := d + "/" + name
		var st unix.Stat_t
		if unix.Stat(p, &st) != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
			continue
		}
		err := unix.Faccessat(unix.AT_FDCWD, p, unix.X_OK, 0)
		if err == nil && st.Mode&0o111 != 0 {
			return p, nil
		}
		found = unix.EACCES
	}
	return "", found
}

// shellScript reports whether an exec failed because the file is a script
// without a #! line; shells and execvp(3) run such a file with /bin/sh.
func shellScript(err error) bool { return errors.Is(err, unix.ENOEXEC) }
