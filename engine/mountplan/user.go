package mountplan

import (
	"path"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// maxCopy is the largest file that is copied into the skeleton, in bytes; a
// larger one is bound read-only.
const maxCopy = 4 << 20

// User plans mode U. In a user namespace an overlay cannot have a lower
// directory with a mount anywhere below it (the mounts are locked, EINVAL), so
// each largest directory without mounts gets an overlay, and the directories
// above them form one skeleton, which is the view's root.
func User(mounts []*mountinfo.Info, host Host) Plan {
	w := userWalk{table: visible(mounts), host: host}
	w.dir("/")
	w.plan.Seeds = userSeeds(host, w.plan)
	return w.plan
}

type userWalk struct {
	table table
	host  Host
	plan  Plan
}

func (w *userWalk) add(it Item)    { w.plan.Items = append(w.plan.Items, it) }
func (w *userWalk) note(s string)  { w.plan.Notes = append(w.plan.Notes, s) }
func (w *userWalk) empty(p string) { w.add(Item{Kind: Empty, Path: p}) }

// dir plans a directory or a mount point of any kind.
func (w *userWalk) dir(p string) {
	if specials[p] {
		w.add(Item{Kind: Special, Path: p})
		return
	}
	m := w.table.at[p]
	if p != "/" && m != nil {
		if fsType(m) == "autofs" {
			w.empty(p) // a look at it could start a mount, or hang
			return
		}
		if pseudo[fsType(m)] {
			w.add(Item{Kind: BindDir, Path: p})
			return
		}
	}
	st, err := w.host.Lstat(p)
	switch {
	case err != nil:
		w.empty(p)
		w.note(p + " cannot be looked at, so it is empty inside")
	case st.Type != Dir:
		w.entry(p, st.Type) // exchanged since it was listed
	case !w.host.May(p, unix.X_OK):
		w.empty(p)
	case w.table.below(p):
		w.skeleton(p, st)
	case p != "/" && m != nil && readOnly(m):
		w.add(w.item(readOnlyKind(m), p, st))
	case w.bare(p):
		w.add(w.item(SkelDir, p, st))
	default:
		w.add(w.item(Overlay, p, st))
	}
}

// bare reports whether a directory is empty and the user cannot write to it:
// an overlay would cost 0.2 ms at each start and show nothing.
func (w *userWalk) bare(p string) bool {
	if w.host.May(p, unix.W_OK) {
		return false
	}
	ents, err := w.host.ReadDir(p)
	return err == nil && len(ents) == 0
}

// item makes an item whose mode tells the truth about writing: the owner in
// the view is the user, whoever it is on the host.
func (w *userWalk) item(k Kind, p string, st Stat) Item {
	mode := st.Mode
	if !w.host.May(p, unix.W_OK) {
		mode &^= 0o222
	}
	return Item{Kind: k, Path: p, Mode: mode, UID: st.UID, GID: st.GID}
}

func (w *userWalk) skeleton(p string, st Stat) {
	w.add(w.item(SkelDir, p, st))
	ents, err := w.host.ReadDir(p)
	if err != nil {
		w.note(p + " cannot be listed, so only the mounts in it are inside")
		return
	}
	for _, e := range ents {
		w.entry(path.Join(p, e.Name), e.Type)
	}
}

func (w *userWalk) entry(p string, t Type) {
	switch t {
	case Dir:
		w.dir(p)
	case Link:
		target, err := w.host.Readlink(p)
		if err == nil {
			w.add(Item{Kind: SkelLink, Path: p, Link: target})
		}
	case File:
		w.file(p)
	default:
		w.note(p + " is a socket, FIFO or device and is not inside")
	}
}

func (w *userWalk) file(p string) {
	st, err := w.host.Lstat(p)
	if err != nil {
		return // gone since it was listed
	}
	if w.table.at[p] == nil && st.Size <= maxCopy && w.host.May(p, unix.R_OK) {
		w.add(w.item(SkelFile, p, st))
		return
	}
	w.add(Item{Kind: BindFile, Path: p})
}
