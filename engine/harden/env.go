package harden

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dropped are the variables that lead to a process outside: an editor, an
// agent that holds keys, a session bus, a terminal multiplexer, a display, a
// service manager. What they point to cannot be reached from inside either;
// without the name no program tries, waits, or talks to a stale one.
// VIM and VIMRUNTIME belong to the editor that started us, and mislead another.
var dropped = map[string]bool{
	"NVIM": true, "VIM": true, "VIMRUNTIME": true, "MYVIMRC": true,
	"SSH_AUTH_SOCK": true, "SSH_ASKPASS": true, "GPG_AGENT_INFO": true,
	"TMUX": true, "TMUX_PANE": true, "TMUX_TMPDIR": true, "STY": true,
	"DISPLAY": true, "WAYLAND_DISPLAY": true, "WAYLAND_SOCKET": true, "XAUTHORITY": true,
	"SESSION_MANAGER": true, "I3SOCK": true, "SWAYSOCK": true, "NIRI_SOCKET": true,
	"PULSE_SERVER": true, "PIPEWIRE_REMOTE": true,
	"KITTY_LISTEN_ON": true, "WEZTERM_UNIX_SOCKET": true, "ALACRITTY_SOCKET": true,
	"WSL_INTEROP":   true,
	"NOTIFY_SOCKET": true, "LISTEN_FDS": true, "LISTEN_PID": true, "LISTEN_FDNAMES": true,
	"JOURNAL_STREAM": true,
	"SANDBOX":        true, // set anew
}

// droppedPrefixes are families of such variables.
var droppedPrefixes = []string{
	"NVIM_", "DBUS_", "SSH_AGENT_", "GNOME_KEYRING_", "VSCODE_", "ZELLIJ", "HYPRLAND_",
}

// Env returns the environment of a sandboxed command: in without the variables
// that lead to processes outside, XDG_RUNTIME_DIR (when it was set) naming the
// sandbox's own /run/user/UID, and SANDBOX=name. Entries without a name are
// left out; the order of the rest stays. The input is not changed.
func Env(in []string, name string) []string {
	out := make([]string, 0, len(in)+1)
	for _, kv := range in {
		key, _, ok := strings.Cut(kv, "=")
		switch {
		case !ok || key == "" || drops(key):
		case key == "XDG_RUNTIME_DIR":
			out = append(out, "XDG_RUNTIME_DIR=/run/user/"+strconv.Itoa(unix.Getuid()))
		default:
			out = append(out, kv)
		}
	}
	return append(out, "SANDBOX="+name)
}

func drops(key string) bool {
	if dropped[key] {
		return true
	}
	for _, p := range droppedPrefixes {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}
