// Package mountplan decides how the view of the machine is put together: host
// mounts in, a list of overlays, skeleton entries and binds out. It only asks
// a Host and mounts nothing; package initproc carries the plan out.
package mountplan

// Kind is what stands at a path of the view.
type Kind uint8

// The kinds.
const (
	Overlay  Kind = iota // an overlay whose lower layer is the host's directory
	SkelDir              // a directory of the skeleton; its entries are in the plan
	SkelFile             // a regular file copied into the skeleton at each start
	SkelLink             // a symlink of the skeleton
	BindFile             // a file of the host, bound read-only
	BindDir              // a directory of the host with all below it, bound read-only
	Special              // /proc, /sys, /dev or /run: made anew
	Empty                // a directory that the user cannot enter, or that must not be touched
	Sealed               // a read-only overlay of a host directory: its files, but not its sockets
)

// String gives the kind's name for logs.
func (k Kind) String() string {
	return [...]string{"overlay", "directory", "file", "symlink", "bound file", "bound directory", "special", "empty", "sealed directory"}[k]
}

// Item is one path of the view. A directory comes before what lies in it.
type Item struct {
	Kind Kind
	Path string // absolute, in the view and on the host
	Link string // target, for SkelLink
	Mode uint32 // st_mode & 07777 that the entry gets, without write bits where the user may not write
	UID  uint32 // of the host's entry
	GID  uint32
}

// Seed is an entry of an extra lower layer that lies on top of an overlay's
// host layer. It changes what is seen without a mount and without an upper.
type Seed struct {
	Path   string // absolute path in the view
	Hidden bool   // a whiteout: the name is not there
	Mode   uint32 // of the directory made, when not hidden
	Copy   bool   // the directory holds copies of the host's regular files
}

// Plan is the whole view.
type Plan struct {
	Items []Item
	Seeds []Seed
	Notes []string // what is degraded, one sentence each
}

// Overlays returns the paths that have an overlay of their own.
func (p Plan) Overlays() []string {
	var out []string
	for _, it := range p.Items {
		if it.Kind == Overlay {
			out = append(out, it.Path)
		}
	}
	return out
}

// Stat is what a plan must know of an entry.
type Stat struct {
	Type     Type
	Mode     uint32 // st_mode & 07777
	UID, GID uint32
	Size     int64
}

// Type is the kind of a host entry.
type Type uint8

// The types that matter to a plan.
const (
	Other Type = iota // socket, FIFO, device
	File
	Dir
	Link
)

// Entry is a name in a host directory.
type Entry struct {
	Name string
	Type Type
}

// Host is the machine that is asked. The paths are host paths.
type Host interface {
	Lstat(path string) (Stat, error)
	ReadDir(path string) ([]Entry, error)
	Readlink(path string) (string, error)
	// May reports whether the caller has the access of access(2), by real ids.
	May(path string, mode uint32) bool
}

// specials are made anew in every view.
var specials = map[string]bool{"/proc": true, "/sys": true, "/dev": true, "/run": true}

// pseudo are the file systems that hold no files of the user's.
var pseudo = map[string]bool{
	"autofs": true, "binfmt_misc": true, "bpf": true, "cgroup": true, "cgroup2": true, "configfs": true,
	"debugfs": true, "devpts": true, "devtmpfs": true, "efivarfs": true, "fusectl": true, "hugetlbfs": true,
	"mqueue": true, "nsfs": true, "proc": true, "pstore": true, "rpc_pipefs": true, "securityfs": true,
	"selinuxfs": true, "sysfs": true, "tracefs": true,
}
