package race

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fingerprint says all there is to say about every entry of some trees, the
// time of its last change and its inode included.
func fingerprint(t *testing.T, roots ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, root := range roots {
		must(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := os.Lstat(path)
			if err != nil {
				return err
			}
			st := info.Sys().(*syscall.Stat_t)
			text := fmt.Sprintf("%v uid=%d ino=%d ctime=%d.%d", info.Mode(), st.Uid, st.Ino, st.Ctim.Sec, st.Ctim.Nsec)
			if info.Mode().IsRegular() {
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				text += fmt.Sprintf(" %q", data)
			}
			all[path] = text
			return nil
		}))
	}
	return all
}

// compare gives a line for each entry that differs.
func compare(before, after map[string]string) []string {
	var out []string
	for path, was := range before {
		if now := after[path]; now != was {
			out = append(out, fmt.Sprintf("%s was %s and is %s", path, was, now))
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			out = append(out, path+" is new")
		}
	}
	return out
}

func (w world) noTemporaries() {
	w.Helper()
	for _, root := range []string{w.at("p"), w.at(outsideHost), w.at(outsideView)} {
		must(w, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(e.Name(), ".sandbox-tmp-") {
				w.Errorf("left: %s", path)
			}
			return err
		}))
	}
}
