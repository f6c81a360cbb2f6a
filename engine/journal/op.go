package journal

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"sandbox/engine/fault"
	"sandbox/engine/rootfs"
)

// Head is the first line of a log.
type Head struct {
	Format int       `json:"format"`
	ID     string    `json:"id"`
	Kind   string    `json:"kind"` // accept or reject
	Time   time.Time `json:"time"`
	// Tree says what the steps change: the word of whoever writes them.
	Tree string `json:"tree"`
	// Tag is in the name of every temporary of this operation.
	Tag string `json:"tag"`
}

// ready is the last line that is written before the first step.
const ready = `"ready"`

// Op is one operation, open for reading its data and adding to its log.
type Op struct {
	Head
	State State

	journal string
	log     *os.File
	data    *rootfs.Root
}

// Begin writes a new operation to the disk: its head, and the lines that
// write gives. When it returns, all of that would survive a power cut.
func Begin(path, kind, tree string, write func(line func(any) error) error) (*Op, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fault.Wrap(fault.Failed, "make the journal", path, err)
	}
	all, err := list(path)
	if err != nil {
		return nil, err
	}
	next := 1
	if len(all) > 0 {
		next = all[len(all)-1].number() + 1
	}
	op := &Op{
		Head: Head{
			Format: Format, ID: fmt.Sprintf("%06d-%s", next, kind), Kind: kind, Time: time.Now().UTC(), Tree: tree, Tag: tag(),
		},
		State: void, journal: path,
	}
	if err := op.create(write); err != nil {
		op.Drop()
		return nil, err
	}
	return op, nil
}

func tag() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (op *Op) create(write func(line func(any) error) error) error {
	dir := op.Dir()
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o700); err != nil {
		return fault.Wrap(fault.Failed, "write the journal", dir, err)
	}
	if err := op.openData(); err != nil {
		return err
	}
	name := filepath.Join(dir, "log")
	log, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(fault.Failed, "write the journal", name, err)
	}
	op.log = log
	buf := bufio.NewWriterSize(log, 256<<10)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	err = enc.Encode(op.Head)
	if err == nil {
		err = write(func(v any) error { return enc.Encode(v) })
	}
	if err == nil {
		_, err = buf.WriteString(ready + "\n")
	}
	err = errors.Join(err, buf.Flush())
	if err == nil {
		err = log.Sync()
	}
	if err != nil {
		return fault.Wrap(fault.Failed, "write the journal", name, err)
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	return op.SetState(Started)
}

func (op *Op) openData() error {
	data, err := rootfs.Open(filepath.Join(op.Dir(), "data"))
	if err != nil {
		return fault.Wrap(fault.Damaged, "open the journal", op.Dir(), err)
	}
	op.data = data
	return nil
}

// Dir is where the operation is now: its state is in the name.
func (op *Op) Dir() string { return filepath.Join(op.journal, Name{op.ID, op.State}.dir()) }

// SetState notes how far the operation came, durably.
func (op *Op) SetState(s State) error {
	if s == op.State {
		return nil
	}
	to := filepath.Join(op.journal, Name{op.ID, s}.dir())
	if err := os.Rename(op.Dir(), to); err != nil {
		return fault.Wrap(fault.Failed, "write the journal", to, err)
	}
	op.State = s
	return syncDir(op.journal)
}

// Add adds a line to the log. It outlives the process, not a power cut.
func (op *Op) Add(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = op.log.Write(append(line, '\n'))
	}
	return fault.Wrap(fault.Failed, "write the journal", op.Dir(), err)
}

// Kept is where step i keeps what it replaced. It shares the operation's
// descriptor: do not close it.
func (op *Op) Kept(i int) rootfs.At { return op.at(strconv.Itoa(i)) }

// After is where taking back step i keeps what the step had made.
func (op *Op) After(i int) rootfs.At { return op.at(strconv.Itoa(i) + ".after") }

func (op *Op) at(name string) rootfs.At {
	return rootfs.At{Dir: op.data.FD(), Name: name, Path: filepath.Join(op.Dir(), "data", name)}
}

// Temp is the name beside a path that step i uses for a moment.
func (op *Op) Temp(i int) string {
	return rootfs.TempPrefix + op.Tag + "-" + strconv.Itoa(i)
}

// Close lets go of the operation.
func (op *Op) Close() {
	if op.data != nil {
		_ = op.data.Close()
	}
	if op.log != nil {
		_ = op.log.Close()
	}
}

// Drop removes an operation that left nothing behind.
func (op *Op) Drop() {
	op.Close()
	remove(op.journal, Name{op.ID, op.State})
}

// Load opens an operation and hands out the lines of its log after the head,
// in order. One that is damaged, or of another format, is named and left as it is.
func Load(path string, n Name, line func([]byte) error) (*Op, error) {
	op := &Op{State: n.State, journal: path}
	name := filepath.Join(op.journal, n.dir(), "log")
	damaged := func(err error) error {
		op.Close()
		return &fault.Error{
			Code: fault.Damaged, Op: "read the journal", Path: name, Err: err,
			Hint: "Nothing was changed. What the operation replaced is in data/ beside this file, by the number of its step; move its directory away to undo older ones.",
		}
	}
	log, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if _, serr := os.Lstat(filepath.Join(op.journal, n.dir(), "op.json")); serr == nil {
			return nil, fault.New(fault.Unsupported, "read the journal", filepath.Dir(name), "it was written by an older version",
				"What it replaced is in its data/; move the directory away to undo older operations.")
		}
	}
	if err != nil {
		return nil, damaged(err)
	}
	op.log = log
	if err := op.read(n, line); err != nil {
		if fault.CodeOf(err) == fault.Unsupported {
			op.Close()
			return nil, err
		}
		return nil, damaged(err)
	}
	if err := op.openData(); err != nil {
		return nil, damaged(err)
	}
	return op, nil
}

func (op *Op) read(n Name, line func([]byte) error) error {
	in := bufio.NewReaderSize(op.log, 256<<10)
	first, err := in.ReadBytes('\n')
	if err != nil {
		return errors.New("it is empty or cut off")
	}
	if err := json.Unmarshal(first, &op.Head); err != nil {
		return err
	}
	if op.Format > Format {
		return fault.New(fault.Unsupported, "read the journal", filepath.Join(op.journal, n.dir()),
			fmt.Sprintf("it was written by a newer version (format %d)", op.Format), "Use that version.")
	}
	if op.ID != n.ID || op.Format != Format || op.Tag == "" {
		return errors.New("it is of another operation")
	}
	begun := false
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// A line without an end was being written when the process ended:
			// what it tells was not done yet.
			if begun {
				return op.mend(text)
			}
			return errors.New("it is cut off")
		}
		if err != nil {
			return err
		}
		if bytes.Equal(text, []byte(ready+"\n")) {
			begun = true
			continue
		}
		if err := line(text); err != nil {
			return err
		}
	}
}

// mend takes the unfinished last line off, so that the next one stands alone.
func (op *Op) mend(rest []byte) error {
	if len(rest) == 0 {
		return nil
	}
	info, err := op.log.Stat()
	if err != nil {
		return err
	}
	return op.log.Truncate(info.Size() - int64(len(rest)))
}
