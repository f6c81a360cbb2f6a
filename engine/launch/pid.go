package launch

import (
	"os"
	"strconv"
	"strings"
)

// startTime returns field 22 of /proc/PID/stat, "" when there is no such
// process. The command name in field 2 may hold anything, so the fields are
// counted from the last parenthesis.
func startTime(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, ok := strings.Cut(string(b), ") ")
	for {
		_, more, again := strings.Cut(rest, ") ")
		if !again {
			break
		}
		rest = more
	}
	f := strings.Fields(rest)
	const at = 22 - 3 // rest starts with field 3
	if !ok || len(f) <= at {
		return ""
	}
	return f[at]
}

func parsePid(s string) (pid int, start, work string, ok bool) {
	f := strings.Fields(s)
	if len(f) < 2 {
		return 0, "", "", false
	}
	if len(f) > 2 {
		work = f[2]
	}
	pid, err := strconv.Atoi(f[0])
	return pid, f[1], work, err == nil && pid > 0
}
