package apply

import (
	"strings"

	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/rootfs"
)

// isPark says whether a path is, or lies in, a directory that is on its way.
func isPark(path string) bool { return strings.Contains(path, "/"+rootfs.TempPrefix+"park-") }

// follow gives the place that something has after the moves among steps.
func follow(steps []step, path string) string {
	for i := range steps {
		if s := &steps[i]; s.Do == doMove && within(path, string(s.From)) {
			path = string(s.Path) + path[len(s.From):]
		}
	}
	return path
}

// correctRedirects rewrites the redirects of directories whose old place lay
// in a directory that the host has under a new name now. Without it their
// content would be lost to the sandbox as soon as the kernel looks it up anew.
func (w *work) correctRedirects(op *operation, final map[string]string) error {
	settled := map[string]bool{} // they lead where they are to
	for _, to := range final {
		settled[to] = true
	}
	for _, layer := range w.layersOf(final) {
		err := w.eachDir(layer.Host, func(path string, at rootfs.At) error {
			to := w.upper.attr(at, "redirect")
			if settled[path] || !strings.HasPrefix(to, "/") {
				return nil
			}
			old := strings.TrimSuffix(layer.Host, "/") + to
			best := ""
			for from := range final {
				if below(old, from) && len(from) > len(best) {
					best = from
				}
			}
			if best == "" {
				return nil
			}
			now := final[best] + old[len(best):]
			return w.setMark(op, mark{Path: pathText(path), Name: "redirect", New: now[len(strings.TrimSuffix(layer.Host, "/")):]})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *work) layersOf(paths map[string]string) map[string]changes.Layer {
	layers := map[string]changes.Layer{}
	for path := range paths {
		if l, ok := w.env.Tree.LayerOf(path); ok {
			layers[l.Host] = l
		}
	}
	return layers
}

// eachDir calls do for every upper directory below a path of the sandbox.
func (w *work) eachDir(path string, do func(path string, at rootfs.At) error) error {
	names, err := w.upper.dirs(path)
	if err != nil {
		return err
	}
	for _, name := range names {
		child := join(path, name)
		err := func() error {
			at, err := w.upper.at(child)
			if err != nil {
				return ignoreMissing(err)
			}
			defer at.Close()
			e, err := at.Stat()
			if err != nil || e.Type != entry.Dir {
				return err
			}
			if err := do(child, at); err != nil {
				return err
			}
			return w.eachDir(child, do)
		}()
		if err != nil {
			return err
		}
	}
	return nil
}
