package launch

import "strings"

// identity reports whether a uid_map maps every id to itself, as that of the
// initial user namespace does (user_namespaces(7)).
func identity(uidMap string) bool {
	f := strings.Fields(uidMap)
	return len(f) == 3 && f[0] == "0" && f[1] == "0" && f[2] == "4294967295"
}
