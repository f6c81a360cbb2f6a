package keeper

import (
	"os"
	"slices"
	"strings"

	"sandbox/engine/base"
)

// sync takes note of what a marker says of caches that were dropped.
func (w *watcher) sync(marker string) {
	since, paths, ok := base.ReadSynced(w.capture.dir, marker)
	if !ok {
		return
	}
	for _, l := range w.layers {
		if len(paths) == 0 || slices.ContainsFunc(paths, func(path string) bool { return w.layerOf(path) == l }) {
			l.synced = max(l.synced, since)
		}
	}
}

func (w *watcher) layerOf(path string) *layer {
	var best *layer
	for _, l := range w.layers {
		if below := l.Host == "/" || path == l.Host || strings.HasPrefix(path, l.Host+"/"); below && (best == nil || len(l.Host) > len(best.Host)) {
			best = l
		}
	}
	return best
}

// waiting are the markers of those who wait now.
func (w *watcher) waiting() []string {
	ents, _ := os.ReadDir(w.barrierDir)
	var markers []string
	for _, e := range ents {
		w.sync(e.Name())
		markers = append(markers, e.Name())
	}
	return markers
}
