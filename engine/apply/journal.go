package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sandbox/engine/changes"
	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// What the journal keeps. The newest operation is kept whatever its size.
const (
	keepOperations = 20
	keepBytes      = 1 << 30
)

// journalFormat is the number of the format of op.json.
const journalFormat = 1

// state is how far an operation came.
type state string

const (
	started state = "started" // steps are being done
	done    state = "done"
	undoing state = "undoing" // steps are being taken back
	undone  state = "undone"
)

// operation is one directory of the journal:
//
//	000012-accept/op.json   what is done, written before the first step
//	000012-accept/data/N    what step N replaced
type operation struct {
	Format int       `json:"format"`
	ID     string    `json:"id"`
	Kind   string    `json:"kind"` // accept or reject
	Time   time.Time `json:"time"`
	State  state     `json:"state"`
	Steps  []step    `json:"steps"`
	Rows   []row     `json:"rows"`
	// Marks are the changes of overlayfs's own marks in the upper.
	Marks []mark `json:"marks,omitempty"`

	dir  string
	data *rootfs.Root
}

type row struct {
	Path pathText     `json:"path"`
	Kind changes.Kind `json:"kind"`
}

// mark is one overlay xattr of an upper entry, before and after.
type mark struct {
	Path pathText `json:"path"` // in the sandbox
	Name string   `json:"name"`
	Old  string   `json:"old,omitempty"`
	New  string   `json:"new,omitempty"`
}

// begin writes a new operation to the disk.
func begin(journal, kind string, steps []step, rows []Row) (*operation, error) {
	if err := os.MkdirAll(journal, 0o700); err != nil {
		return nil, fault.Wrap(fault.Failed, "make the journal", journal, err)
	}
	ids, err := ids(journal)
	if err != nil {
		return nil, err
	}
	next := 1
	if len(ids) > 0 {
		next = number(ids[len(ids)-1]) + 1
	}
	op := &operation{
		Format: journalFormat, Kind: kind, Time: time.Now().UTC(), State: started, Steps: steps,
		ID: fmt.Sprintf("%06d-%s", next, kind),
	}
	for _, r := range rows {
		op.Rows = append(op.Rows, row{pathText(r.Path), r.Kind})
	}
	for i := range op.Steps {
		s := &op.Steps[i]
		s.Tmp = rootfs.TempName()
		s.Data = strconv.Itoa(i)
	}
	op.dir = filepath.Join(journal, op.ID)
	if err := os.MkdirAll(filepath.Join(op.dir, "data"), 0o700); err != nil {
		return nil, fault.Wrap(fault.Failed, "write the journal", op.dir, err)
	}
	if err := op.openData(); err != nil {
		return nil, err
	}
	if err := op.save(); err != nil {
		_ = os.RemoveAll(op.dir)
		return nil, err
	}
	return op, syncDir(journal)
}

func (op *operation) openData() error {
	data, err := rootfs.Open(filepath.Join(op.dir, "data"))
	if err != nil {
		return fault.Wrap(fault.Damaged, "open the journal", op.dir, err)
	}
	op.data = data
	return nil
}

// save writes op.json so that it is there whole or not at all.
func (op *operation) save() error {
	data, err := json.Marshal(op)
	if err != nil {
		return fault.Wrap(fault.Internal, "write the journal", op.dir, err)
	}
	path := filepath.Join(op.dir, "op.json")
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(fault.Failed, "write the journal", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fault.Wrap(fault.Failed, "write the journal", path, err)
	}
	return syncDir(op.dir)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fault.Wrap(fault.Failed, "write the journal", path, err)
	}
	return fault.Wrap(fault.Failed, "write the journal", path, errors.Join(d.Sync(), d.Close()))
}

// kept is where step i keeps what it replaced.
func (op *operation) kept(i int) (rootfs.At, error) { return op.data.At("/" + op.Steps[i].Data) }

// after is where an undo keeps what it takes off the host.
func (op *operation) after(i int) (rootfs.At, error) {
	return op.data.At("/" + op.Steps[i].Data + ".after")
}

func (op *operation) close() {
	if op.data != nil {
		_ = op.data.Close()
	}
}

// drop removes an operation that left nothing behind.
func (op *operation) drop() {
	op.close()
	removeDir(filepath.Dir(op.dir), op.ID)
}

// removeDir removes what may hold directories that nobody may write.
func removeDir(journal, id string) {
	root, err := rootfs.Open(journal)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	at, err := root.At("/" + id)
	if err != nil {
		return
	}
	defer at.Close()
	_ = at.RemoveAll()
}

// ids lists the operations, oldest first.
func ids(journal string) ([]string, error) {
	list, err := os.ReadDir(journal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "read the journal", journal, err)
	}
	var all []string
	for _, d := range list {
		if d.IsDir() && number(d.Name()) > 0 {
			all = append(all, d.Name())
		}
	}
	slices.SortFunc(all, func(x, y string) int { return number(x) - number(y) })
	return all, nil
}

// number is the count in an operation's name, 0 when it is no such name.
func number(id string) int {
	digits, _, ok := strings.Cut(id, "-")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return 0
	}
	return n
}

// load reads one operation.
func load(journal, id string) (*operation, error) {
	op := &operation{dir: filepath.Join(journal, id)}
	path := filepath.Join(op.dir, "op.json")
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, op)
	}
	if err == nil && op.ID != id {
		err = errors.New("it names another operation")
	}
	if err != nil {
		return nil, &fault.Error{
			Code: fault.Damaged, Op: "read the journal", Path: path, Err: err,
			Hint: "Nothing was changed. What the operation replaced is in data/ beside this file; move its directory away to undo older ones.",
		}
	}
	if op.Format > journalFormat {
		return nil, fault.New(fault.Unsupported, "read the journal", path,
			fmt.Sprintf("it was written by a newer version (format %d)", op.Format), "Use that version.")
	}
	return op, op.openData()
}

// trim removes the oldest operations beyond what is kept.
func trim(journal string) {
	all, err := ids(journal)
	if err != nil {
		return
	}
	var sum int64
	for i, id := range slices.Backward(all) {
		sum += size(filepath.Join(journal, id))
		newest := i == len(all)-1
		if !newest && (len(all)-i > keepOperations || sum > keepBytes) {
			removeDir(journal, id)
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
