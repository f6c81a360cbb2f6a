// Package journal keeps, on disk, what operations did and what they replaced,
// so that each can be taken back: by an undo, or because it was interrupted.
//
//	journal/000012-accept/log      lines of JSON: a head, what is to be done,
//	                               then what was done
//	journal/000012-accept/data/N   what step N replaced
//
// How far an operation came stands in its directory's name (000012-accept.started):
// a rename is done or not, needs no space, and one look at the list of names
// tells whether something was interrupted.
//
// What a line says is the business of whoever writes it (package apply).
package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// Format is the number of the format that this program writes.
const Format = 2

// What is kept. The newest operation is kept whatever its size.
const (
	keepOperations = 20
	keepBytes      = 1 << 30
)

// State says how far an operation came.
type State string

// The states. All but Done are the suffix of a directory's name.
const (
	Done    State = ""
	Started State = "started" // steps are being done
	Undoing State = "undoing" // steps are being taken back
	// Finishing: all is done, and what was copied to the journal is still to go
	// from beside its place.
	Finishing State = "finishing"
	Undone    State = "undone"
	Damaged   State = "damaged" // set aside: interrupted, and its log cannot be read

	// What is no operation, yet or any more: its log is being written and
	// nothing was done, or it is being removed.
	void State = "void"
)

// Name is an operation in the list of a journal.
type Name struct {
	ID    string
	State State
}

func (n Name) dir() string {
	if n.State == Done {
		return n.ID
	}
	return n.ID + "." + string(n.State)
}

// Interrupted says that the operation was cut short, when nobody is at it now.
func (n Name) Interrupted() bool {
	return n.State == Started || n.State == Undoing || n.State == Finishing
}

// number is the count in an operation's name, 0 when it is no such name.
func (n Name) number() int {
	digits, _, ok := strings.Cut(n.ID, "-")
	count, err := strconv.Atoi(digits)
	if !ok || err != nil || count < 0 {
		return 0
	}
	return count
}

// List gives the operations of a journal, oldest first, without those that
// never began. A journal that is missing has none.
func List(path string) ([]Name, error) {
	all, err := list(path)
	return slices.DeleteFunc(all, func(n Name) bool { return n.State == void }), err
}

func list(path string) ([]Name, error) {
	ents, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "read the journal", path, err)
	}
	var all []Name
	for _, d := range ents {
		id, state, _ := strings.Cut(d.Name(), ".")
		n := Name{ID: id, State: State(state)}
		if d.IsDir() && n.number() > 0 && n.dir() == d.Name() {
			all = append(all, n)
		}
	}
	slices.SortStableFunc(all, func(x, y Name) int { return x.number() - y.number() })
	return all, nil
}

// Pending says, by one look at a directory, whether an operation may have been
// cut short: it may also be under way.
func Pending(path string) bool {
	all, err := list(path)
	return err == nil && slices.ContainsFunc(all, func(n Name) bool { return n.Interrupted() || n.State == void })
}

// Sweep removes what was cut short before it began, or while it was removed.
// The caller holds the lock of operations.
func Sweep(path string) {
	all, err := list(path)
	if err != nil {
		return
	}
	for _, n := range all {
		if n.State == void {
			remove(path, n)
		}
	}
}

// SetAside gives an interrupted operation that cannot be read another name, so
// that it stands in nobody's way, and returns where it is now. Nothing of it
// is ever removed.
func SetAside(path string, n Name) (string, error) {
	to := filepath.Join(path, Name{n.ID, Damaged}.dir())
	err := os.Rename(filepath.Join(path, n.dir()), to)
	return to, fault.Wrap(fault.Failed, "set aside", to, err)
}

// Trim removes the oldest operations beyond what is kept. What is interrupted
// or damaged stays.
func Trim(path string) {
	all, err := list(path)
	if err != nil {
		return
	}
	var sum int64
	count := 0
	for i, n := range slices.Backward(all) {
		if n.State != Done && n.State != Undone {
			continue
		}
		sum += size(filepath.Join(path, n.dir()))
		count++
		if i < len(all)-1 && (count > keepOperations || sum > keepBytes) {
			remove(path, n)
		}
	}
}

// size is the space that an operation takes, holes not counted.
func size(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil && unix.Lstat(path, &st) == nil {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum
}

// remove removes an operation, which may hold directories that nobody may
// write. It is none any more before the first file of it goes.
func remove(path string, n Name) {
	gone := Name{n.ID, void}
	if n.State != void && os.Rename(filepath.Join(path, n.dir()), filepath.Join(path, gone.dir())) != nil {
		return
	}
	root, err := rootfs.Open(path)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	at, err := root.At("/" + gone.dir())
	if err != nil {
		return
	}
	defer at.Close()
	_ = at.RemoveAll()
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fault.Wrap(fault.Failed, "write the journal", path, err)
	}
	return fault.Wrap(fault.Failed, "write the journal", path, errors.Join(d.Sync(), d.Close()))
}
