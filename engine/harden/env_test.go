package harden

import (
	"os"
	"slices"
	"strconv"
	"testing"
)

func TestEnvDropsWhatLeadsOutside(t *testing.T) {
	own := "XDG_RUNTIME_DIR=/run/user/" + strconv.Itoa(os.Getuid())
	tests := []struct {
		name string
		in   []string
		want []string
	}{
		{"nothing", nil, []string{"SANDBOX=s"}},
		{"ordinary variables stay in order", []string{"PATH=/bin", "LANG=C", "HOME=/h"}, []string{"PATH=/bin", "LANG=C", "HOME=/h", "SANDBOX=s"}},
		{"editor", []string{"NVIM=/tmp/nvim.x/0", "NVIM_LISTEN_ADDRESS=/a", "NVIM_LOG_FILE=/b", "VIM=/v", "VIMRUNTIME=/r", "EDITOR=nvim"}, []string{"EDITOR=nvim", "SANDBOX=s"}},
		{"a name that only begins alike", []string{"NVIMX=1", "VIMX=1", "TMUXER=1", "SANDBOX_X=1"}, []string{"NVIMX=1", "VIMX=1", "TMUXER=1", "SANDBOX_X=1", "SANDBOX=s"}},
		{"agents", []string{"SSH_AUTH_SOCK=/a", "SSH_AGENT_PID=1", "GPG_AGENT_INFO=x", "GNOME_KEYRING_CONTROL=/k"}, []string{"SANDBOX=s"}},
		{"session bus", []string{"DBUS_SESSION_BUS_ADDRESS=unix:abstract=/tmp/x", "DBUS_SYSTEM_BUS_ADDRESS=y"}, []string{"SANDBOX=s"}},
		{"multiplexers", []string{"TMUX=/tmp/t,1,0", "TMUX_PANE=%1", "STY=1.x", "ZELLIJ=0", "ZELLIJ_SESSION_NAME=n"}, []string{"SANDBOX=s"}},
		{"displays", []string{"DISPLAY=:0", "WAYLAND_DISPLAY=w", "XAUTHORITY=/x"}, []string{"SANDBOX=s"}},
		{"service manager", []string{"NOTIFY_SOCKET=@n", "LISTEN_FDS=1", "LISTEN_PID=2"}, []string{"SANDBOX=s"}},
		{"runtime directory is the sandbox's", []string{"XDG_RUNTIME_DIR=/run/user/4", "XDG_CONFIG_HOME=/c"}, []string{own, "XDG_CONFIG_HOME=/c", "SANDBOX=s"}},
		{"an outer sandbox's name", []string{"SANDBOX=outer", "A=1"}, []string{"A=1", "SANDBOX=s"}},
		{"values are any bytes", []string{"A=\xff\n=b", "B="}, []string{"A=\xff\n=b", "B=", "SANDBOX=s"}},
		{"no name", []string{"=x", "junk", ""}, []string{"SANDBOX=s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := slices.Clone(tt.in)
			if got := Env(tt.in, "s"); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if !slices.Equal(tt.in, before) {
				t.Errorf("the input was changed: %q", tt.in)
			}
		})
	}
}
