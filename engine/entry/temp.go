package entry

import (
	"encoding/hex"
	"strings"
)

// renameTemp starts the name of a directory tree that the sandbox's init is
// building, to put it where a command renamed a directory to (engine/renames).
const renameTemp = ".~rename-"

// RenameTempBytes is how many bytes of chance are in such a name.
const RenameTempBytes = 8

// RenameTemp is the name for a tree that is being built.
func RenameTemp(id [RenameTempBytes]byte) string { return renameTemp + hex.EncodeToString(id[:]) }

// IsRenameTemp reports whether a name is one of those. What has such a name is
// no change of the sandbox's: it is gone, or has its real name, a moment later.
func IsRenameTemp(name string) bool {
	id, ok := strings.CutPrefix(name, renameTemp)
	if !ok || len(id) != 2*RenameTempBytes {
		return false
	}
	_, err := hex.DecodeString(id)
	return err == nil
}
