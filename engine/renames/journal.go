package renames

import (
	"crypto/rand"
	"encoding/json"
	"log"

	"golang.org/x/sys/unix"

	"sandbox/engine/entry"
)

// JournalFile is the name of the journal in a sandbox's storage. It is there
// while a directory is moved.
const JournalFile = "rename.json"

// record is the move under way. Names are bytes; JSON keeps byte slices whole.
type record struct {
	FromDir, FromName []byte
	ToDir, ToName     []byte
	Temp              string
	Committed         bool
}

// journal is the file that outlives a killed init. Nothing is synced: a machine
// that stops loses what a volatile overlay wrote as well.
type journal struct{ dir int }

// begin notes a move before its first change.
func (j *journal) begin(m *move) (*record, error) {
	from, err := pathOf(m.from.dir)
	if err != nil {
		return nil, err
	}
	to, err := pathOf(m.to.dir)
	if err != nil {
		return nil, err
	}
	var id [entry.RenameTempBytes]byte
	_, _ = rand.Read(id[:]) // cannot fail
	r := &record{
		FromDir: from, FromName: []byte(m.from.name), ToDir: to, ToName: []byte(m.to.name),
		Temp: entry.RenameTemp(id),
	}
	return r, j.write(r)
}

// committed notes that the new tree is in place.
func (j *journal) committed(r *record) {
	r.Committed = true
	if err := j.write(r); err != nil {
		log.Printf("renames: write the journal: %v", err)
	}
}

func (j *journal) end() { _ = unix.Unlinkat(j.dir, JournalFile, 0) }

func (j *journal) write(r *record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return unix.EINVAL
	}
	const temp = JournalFile + ".tmp"
	fd, err := unix.Openat(j.dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	n, err := unix.Write(fd, b)
	_ = unix.Close(fd)
	if err == nil && n < len(b) {
		err = unix.ENOSPC
	}
	if err == nil {
		err = unix.Renameat(j.dir, temp, j.dir, JournalFile)
	}
	if err != nil {
		_ = unix.Unlinkat(j.dir, temp, 0)
	}
	return err
}

func (j *journal) read() (*record, error) {
	fd, err := unix.Openat(j.dir, JournalFile, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 64<<10) // four paths in base64
	n, err := unix.Read(fd, b)
	if err != nil {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(b[:n], r); err != nil || !entry.IsRenameTemp(r.Temp) {
		return nil, unix.EINVAL
	}
	return r, nil
}

// pathOf returns the absolute path of an open directory, and fails when that
// path does not lead there (any more).
func pathOf(fd int) ([]byte, error) {
	buf := make([]byte, pathMax)
	n, err := unix.Readlink(fdPath(fd), buf)
	if err != nil {
		return nil, err
	}
	again, err := openPath(buf[:n])
	if err != nil {
		return nil, err
	}
	defer unix.Close(again)
	var a, b unix.Stat_t
	if unix.Fstat(fd, &a) != nil || unix.Fstat(again, &b) != nil || idOf(&a) != idOf(&b) {
		return nil, unix.ENOENT
	}
	return buf[:n], nil
}

func openPath(path []byte) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, string(path), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
}
