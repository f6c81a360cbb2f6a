package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"

	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// Dir is the storage of one sandbox. It is only a name for a place: nothing is
// held open.
type Dir struct {
	Storage string // absolute path of the storage directory
	Name    string
}

// At returns the Dir of a name without looking whether it exists.
func At(storage, name string) Dir { return Dir{Storage: storage, Name: name} }

// Path returns the absolute path of one of the sandbox's parts.
func (d Dir) Path(elem ...string) string {
	return filepath.Join(append([]string{d.Storage, d.Name}, elem...)...)
}

// The names of the parts, for Path.
const (
	MetaFile   = "sandbox.json"
	SocketFile = "ctl.sock"
	LockFile   = "lock"
	OpLockFile = "op.lock"
	InitLog    = "init.log"
	KeeperLog  = "keeper.log"
	PidFile    = "init.pid"
	Upper      = "upper"
	UpperSkel  = "upper-skel"
	UpperMnt   = "upper-mnt"
	MountPoint = "mnt"
	Journal    = "journal"
)

// Open returns the Dir of a sandbox that exists. The error is a *fault.Error
// with code NoSandbox when there is none, and Unsupported when its format is
// newer than this binary.
func Open(storage, name string) (Dir, Meta, error) {
	d := At(storage, name)
	m, err := d.LoadMeta()
	if errors.Is(err, fs.ErrNotExist) {
		return d, m, &fault.Error{
			Code: fault.NoSandbox, Op: "open sandbox", Path: name, Reason: "there is no sandbox of that name in " + storage,
			Hint: "`sandbox list` shows what there is; `sandbox --name " + name + " CMD` makes it.",
		}
	}
	return d, m, err
}

// LoadMeta reads sandbox.json. A missing one is fs.ErrNotExist, a damaged one
// has code Damaged and is left as it is.
func (d Dir) LoadMeta() (Meta, error) {
	var m Meta
	path := d.Path(MetaFile)
	b, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, unix.ENOTDIR) {
			return m, fs.ErrNotExist
		}
		return m, err
	}
	if err := json.Unmarshal(b, &m); err != nil || m.Format == 0 || (m.Mode != ModeUser && m.Mode != ModePrivileged) {
		return m, &fault.Error{
			Code: fault.Damaged, Op: "read", Path: path, Reason: "the file is damaged", Err: err,
			Hint: "Nothing was changed. Restore the file, or remove the sandbox with `sandbox delete`.",
		}
	}
	if m.Format > Format {
		return m, fault.New(fault.Unsupported, "open sandbox", d.Name,
			fmt.Sprintf("its format is %d, this program knows %d", m.Format, Format),
			"Use the newer program that made it.")
	}
	return m, nil
}

// SaveMeta writes sandbox.json through a temporary file.
func (d Dir) SaveMeta(m Meta) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(d.Path(MetaFile), append(b, '\n'), 0o600)
}

// WriteFile replaces path by a temporary file and a rename, so that a reader
// sees the old content or the new one.
func WriteFile(path string, data []byte, mode os.FileMode) error {
	tmp := fmt.Sprintf("%s.tmp-%d", path, os.Getpid())
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}

// List returns the names of all sandboxes in a storage directory, sorted. A
// directory that is missing holds none.
func List(storage string) ([]string, error) {
	ents, err := os.ReadDir(storage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Failed, "list sandboxes", storage, err)
	}
	var names []string
	for _, e := range ents {
		if !e.IsDir() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(storage, e.Name(), MetaFile)); err == nil {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	return names, nil
}

// Make makes the directory of a sandbox (and the storage directory) with mode
// 0700. It refuses a storage directory that somebody else owns: whoever owns
// it could exchange what a later accept reads.
func Make(storage, name string) (Dir, error) {
	d := At(storage, name)
	if err := os.MkdirAll(storage, 0o700); err != nil {
		return d, fault.Wrap(fault.Failed, "make storage", storage, err)
	}
	if err := checkOwner(storage); err != nil {
		return d, err
	}
	if err := os.Mkdir(d.Path(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return d, fault.Wrap(fault.Failed, "make sandbox", d.Path(), err)
	}
	return d, checkOwner(d.Path())
}

func checkOwner(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return fault.Wrap(fault.Failed, "look at", path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fault.New(fault.Usage, "use storage", path, "it is not a directory", "Choose another with --storage-dir.")
	}
	if int(st.Uid) == os.Geteuid() {
		return nil
	}
	owner := strconv.Itoa(int(st.Uid))
	if u, err := user.LookupId(owner); err == nil {
		owner = u.Username
	}
	return fault.New(fault.Usage, "use storage", path, "it belongs to "+owner+", not to you",
		"Run as "+owner+", or choose another directory with --storage-dir.")
}

// CheckUpper refuses storage on a file system that cannot hold an upper layer.
func CheckUpper(path string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return fault.Wrap(fault.Failed, "look at the file system of", path, err)
	}
	name := map[int64]string{
		unix.OVERLAYFS_SUPER_MAGIC: "overlayfs (are you in a container?)",
		unix.NFS_SUPER_MAGIC:       "NFS",
		unix.FUSE_SUPER_MAGIC:      "FUSE",
		unix.ECRYPTFS_SUPER_MAGIC:  "eCryptfs",
		unix.V9FS_MAGIC:            "9p",
		unix.SMB2_SUPER_MAGIC:      "SMB",
		unix.CIFS_SUPER_MAGIC:      "CIFS",
		unix.MSDOS_SUPER_MAGIC:     "FAT",
	}[int64(uint32(st.Type))] // the magic is 32 bits wide; some are above 2^31
	if name == "" {
		return nil
	}
	return fault.New(fault.Unsupported, "keep changes in", path, "it is on "+name,
		"Use --storage-dir on a local disk or a tmpfs, e.g. /dev/shm/sandboxes (lost on reboot).")
}
