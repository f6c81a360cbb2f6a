// Package entry describes one file-system entry (a side of a change) and the
// fingerprint that decisions are bound to.
package entry

// Type is the kind of a file-system entry.
type Type string

// The types. None means that nothing is there.
const (
	None    Type = "none"
	File    Type = "file"
	Dir     Type = "dir"
	Symlink Type = "symlink"
	Fifo    Type = "fifo"
	Socket  Type = "socket"
	Char    Type = "char_device"
	Block   Type = "block_device"
)

// Entry is what lstat says of one path, without its content.
type Entry struct {
	Type    Type   `json:"type"`
	Mode    uint32 `json:"mode"` // permission bits with setuid, setgid and sticky: st_mode & 07777
	UID     uint32 `json:"uid"`
	GID     uint32 `json:"gid"`
	Size    int64  `json:"size"`  // bytes
	MtimeNs int64  `json:"mtime"` // nanoseconds since 1970
	CtimeNs int64  `json:"ctime"`
	BtimeNs int64  `json:"btime"` // 0 when the file system does not say
	Dev     uint64 `json:"dev"`
	Ino     uint64 `json:"ino"`
	Nlink   uint64 `json:"nlink"`
	Rdev    uint64 `json:"rdev,omitempty"`   // of a device, as unix.Mkdev makes it
	Target  string `json:"target,omitempty"` // of a symlink
}

// Print is the fingerprint of an entry: its type and its content, never its
// mode, owner or times. The forms are
//
//	none
//	dir
//	file:<hex sha-256 of the bytes>
//	symlink:<hex sha-256 of the target>
//	fifo, socket, char_device:<major>:<minor>, block_device:<major>:<minor>
//
// It is what host_hash and sandbox_hash are in JSON: a decision made on one
// print is refused as stale when the entry has another one.
type Print string

// PrintNone is the print of a path where nothing is.
const PrintNone Print = "none"
