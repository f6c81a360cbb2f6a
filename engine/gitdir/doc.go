// Package gitdir reads what git keeps in its own directory: which file is what,
// where branches are, what an index holds, what a configuration asks for.
//
// All of it was written by whoever used the repository, an agent included, so
// it is read as hostile: sizes are bounded, nothing is believed that another
// file does not confirm, and no program is run. The package is pure; a View
// hands it the bytes. It is no git library: objects in packs, and references
// in the reftable format, are only counted.
package gitdir

// View is one version of a git directory.
type View interface {
	// Read gives the bytes of the regular file rel. ok is false where there is
	// none, or where it is longer than limit.
	Read(rel string, limit int64) (data []byte, ok bool)
}

// How much of a file is read at most.
const (
	maxSmall  = 8 << 10
	maxConfig = 1 << 20
	maxPacked = 16 << 20
	maxIndex  = 128 << 20
	maxObject = 1 << 20
)
