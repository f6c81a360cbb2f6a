package keeper

import "sandbox/engine/entry"

func parent(path string) string {
	dir, _ := entry.Split(path)
	return dir
}

func join(dir, name string) string {
	if dir == "/" || dir == "" {
		return "/" + name
	}
	return dir + "/" + name
}
