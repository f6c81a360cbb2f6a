package kinds

import (
	"errors"
	"os"
)

// links are stories of files with several names.
func links() []one {
	none := func(string) error { return nil }
	pair := func(dir string) error {
		return errors.Join(put(dir+"/a", "pair of "+dir+"\n", 0o644), os.Link(dir+"/a", dir+"/b"))
	}
	return []one{
		{
			name: "links made inside", host: none,
			box: func(dir string) error {
				return errors.Join(pair(dir), os.Mkdir(dir+"/d", 0o755), os.Link(dir+"/a", dir+"/d/c"))
			},
			want: []string{"added a", "added b", "added d", "added d/c"}, torn: []string{"a", "b", "d/c"},
		},
		{
			name: "link to a file of the host", host: func(dir string) error { return put(dir+"/a", "of the host\n", 0o644) },
			box:  func(dir string) error { return os.Link(dir+"/a", dir+"/b") },
			want: []string{"added b"}, apart: []string{"a", "b"}, noted: []string{"b"},
		},
		{
			name: "one of two linked files edited", host: pair,
			box:  func(dir string) error { return put(dir+"/a", "edited\n", 0o644) },
			want: []string{"modified a"}, noted: []string{"a"},
		},
		{
			name: "mode of one of two linked files", host: pair,
			box:  func(dir string) error { return os.Chmod(dir+"/a", 0o600) },
			want: []string{"attributes a"}, noted: []string{"a"},
		},
		{
			name: "one of two linked files removed", host: pair,
			box:  func(dir string) error { return os.Remove(dir + "/a") },
			want: []string{"deleted a"},
		},
		{
			name: "both linked files removed", host: pair,
			box:  func(dir string) error { return errors.Join(os.Remove(dir+"/a"), os.Remove(dir+"/b")) },
			want: []string{"deleted a", "deleted b"},
		},
		{
			name: "two files become one", host: func(dir string) error {
				return errors.Join(put(dir+"/a", "first\n", 0o644), put(dir+"/b", "second\n", 0o644))
			},
			box: func(dir string) error {
				return errors.Join(put(dir+"/a", "both\n", 0o644), os.Remove(dir+"/b"), os.Link(dir+"/a", dir+"/b"))
			},
			want: []string{"modified a", "modified b"}, torn: []string{"a", "b"},
		},
		{
			name: "linked symlinks", host: none,
			box:  func(dir string) error { return errors.Join(os.Symlink("to", dir+"/a"), os.Link(dir+"/a", dir+"/b")) },
			want: []string{"added a", "added b"}, torn: []string{"a", "b"},
		},
	}
}
