package sensitive

// The catalogue. A place is written in one of these ways:
//
//	~/x     that path in a home directory
//	~/x/    that one and everything below it
//	/x      that absolute path
//	/x/     that one and everything below it
//	x/y     any path that ends so
//	x/y/    these components anywhere, and everything below them
//	…*      names that begin so, and everything below them
//
// Rules that need more than a path (git directories, modes, links) are in
// rules.go. A fixed list is never complete: it slows a mistake down, and the
// wall is that nothing lands without being accepted.
var catalogue = []group{
	{LevelHold, "runs at every shell start", []string{
		"~/.bashrc", "~/.bash_profile", "~/.bash_login", "~/.bash_logout", "~/.bash_aliases", "~/.bash_completion",
		"~/.bashrc.d/", "~/.profile", "~/.zshrc", "~/.zshenv", "~/.zprofile", "~/.zlogin", "~/.zlogout", "~/.zsh/",
		"~/.oh-my-zsh/", "~/.kshrc", "~/.mkshrc", "~/.cshrc", "~/.tcshrc", "~/.login", "~/.logout", "~/.xonshrc",
		"~/.config/bash/", "~/.config/fish/", "~/.config/zsh/", "~/.config/nushell/", "~/.config/powershell/",
		"~/.local/share/bash-completion/", "~/.local/share/fish/", "~/.local/share/zsh/",
		"~/.cargo/env", "~/.nvm/nvm.sh", "~/.sdkman/bin/sdkman-init.sh", "~/.config/environment.d/", "~/.pam_environment", "~/.zcompdump*", "~/.selected_editor",
		"/etc/profile", "/etc/profile.d/", "/etc/bash.bashrc", "/etc/bash_completion.d/", "/etc/zsh/", "/etc/fish/",
		"/etc/environment", "/etc/skel/", "/etc/inputrc", "/usr/share/bash-completion/", "/usr/share/zsh/", "/usr/share/fish/",
	}},
	{LevelHold, "runs at login", []string{
		"~/.xprofile", "~/.xinitrc", "~/.xsession", "~/.xsessionrc", "~/.config/autostart/", "~/.config/autostart-scripts/",
		"~/.config/plasma-workspace/", "~/.config/i3/", "~/.i3/", "~/.config/sway/", "~/.config/hypr/", "~/.config/awesome/",
		"~/.config/bspwm/", "~/.config/sxhkd/", "~/.config/openbox/", "~/.config/qtile/", "~/.config/river/",
		"~/.config/niri/", "~/.config/labwc/", "~/.config/waybar/", "~/.config/polybar/", "~/.config/dconf/", "~/.xbindkeysrc",
		"~/.local/share/gnome-shell/", "~/.local/share/plasma/", "~/.local/share/kwin/", "~/.config/pulse/", "~/.config/wireplumber/",
		"~/.local/share/dbus-1/", "/etc/update-motd.d/", "/usr/share/xsessions/", "/usr/share/wayland-sessions/", "/etc/xdg/autostart/", "/etc/X11/", "/etc/dbus-1/", "/usr/share/dbus-1/",
	}},
	{LevelHold, "is started by systemd or init", []string{
		"~/.config/systemd/", "~/.local/share/systemd/", "~/.config/containers/systemd/", "/etc/containers/systemd/", "/var/lib/systemd/linger/", "/etc/systemd/", "/lib/systemd/", "/usr/lib/systemd/",
		"/usr/local/lib/systemd/", "/etc/init.d/", "/etc/rc.local", "/etc/rc0.d/", "/etc/rc1.d/", "/etc/rc2.d/", "/etc/rc3.d/",
		"/etc/rc4.d/", "/etc/rc5.d/", "/etc/rc6.d/", "/etc/rcS.d/", "/etc/inittab", "/etc/udev/", "/etc/modprobe.d/",
		"/etc/modules", "/etc/modules-load.d/", "/etc/tmpfiles.d/", "/etc/binfmt.d/", "/etc/fstab", "/etc/sysctl.conf", "/etc/sysctl.d/",
		"/etc/NetworkManager/dispatcher.d/", "/etc/network/", "/etc/dhcp/", "/etc/acpi/", "/etc/xinetd.d/", "/etc/inetd.conf", "/etc/docker/",
		"/etc/grub.d/", "/etc/kernel/", "/etc/initramfs-tools/", "/etc/default/", "/usr/lib/tmpfiles.d/", "/usr/lib/binfmt.d/",
		"/usr/lib/udev/", "/lib/udev/", "/usr/lib/modprobe.d/", "/lib/modules/", "/usr/lib/modules/", "/boot/",
	}},
	{LevelHold, "runs by the clock", []string{
		"/etc/crontab", "/etc/anacrontab", "/etc/cron.d/", "/etc/cron.hourly/", "/etc/cron.daily/", "/etc/cron.weekly/",
		"/etc/cron.monthly/", "/var/spool/cron/", "/var/spool/at/", "/etc/cron.allow", "/etc/cron.deny", "/etc/at.allow", "/etc/at.deny", "/var/spool/incron/",
		"/etc/logrotate.d/", "/etc/logrotate.conf",
	}},
	{LevelHold, "guards an identity", []string{
		"~/.ssh/", "~/.gnupg/", "~/.netrc", "~/.aws/", "~/.azure/", "~/.kube/", "~/.docker/config.json", "~/.docker/cli-plugins/",
		"~/.config/gcloud/", "~/.config/gh/", "~/.config/op/", "~/.password-store/", "~/.pki/", "~/.rhosts", "~/.shosts",
		"~/.git-credentials", "~/.pypirc", "~/.config/sops/", "~/.config/age/", "~/.local/share/keyrings/", "~/.cargo/credentials.toml",
		"~/.cargo/credentials", "~/.gem/credentials", "~/.terraformrc", "~/.terraform.d/", "~/.vault-token", "~/.config/rclone/",
		"~/.boto", "~/.s3cfg", "~/.config/glab-cli/", "~/.config/hub",
	}},
	{LevelHold, "decides who may do what on this machine", []string{
		"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/subuid", "/etc/subgid", "/etc/sudoers", "/etc/sudoers.d/", "/etc/sudo.conf", "/etc/shells", "/etc/login.defs", "/etc/hosts.allow", "/etc/hosts.deny",
		"/etc/doas.conf", "/etc/pam.d/", "/etc/pam.conf", "/etc/security/", "/etc/ssh/", "/etc/polkit-1/", "/usr/share/polkit-1/",
		"/etc/nsswitch.conf", "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.conf.d/", "/etc/apparmor.d/", "/etc/selinux/",
		"/etc/apt/", "/etc/dpkg/", "/etc/yum.repos.d/", "/etc/dnf/", "/etc/pacman.conf", "/etc/pacman.d/", "/etc/ca-certificates/",
		"/usr/local/share/ca-certificates/", "/etc/ssl/",
	}},
	{LevelHold, "names programs that version control runs", []string{
		"~/.gitconfig", "~/.config/git/", "/etc/gitconfig", "~/.hgrc", "~/.config/hg/", ".hg/hgrc", "~/.config/jj/",
		"~/.jjconfig.toml", ".jj/repo/config.toml", ".husky/", ".githooks/", "~/.subversion/", "~/.git-templates/", "~/.git_template/",
		"/usr/share/git-core/templates/",
	}},
	{LevelHold, "runs when the directory is entered", []string{".envrc", "~/.config/direnv/", "~/.local/share/direnv/", "~/.config/mise/", "~/.local/state/mise/", "~/.asdfrc"}},
	{LevelHold, "runs in the editor", []string{
		"~/.vimrc", "~/.gvimrc", "~/.vim/", "~/.config/vim/", "~/.config/nvim/", "~/.local/share/nvim/", ".vimrc", ".gvimrc",
		".exrc", ".nvimrc", ".nvim.lua", ".lazy.lua", "~/.emacs", "~/.emacs.d/", "~/.config/emacs/", "~/.config/doom/",
		"~/.doom.d/", ".dir-locals.el", "~/.config/helix/", ".helix/", "~/.config/kak/", "~/.config/zed/", ".zed/",
		"~/.config/Code/", "~/.config/VSCodium/", "~/.vscode/", "~/.vscode-server/", ".vscode/tasks.json",
		".vscode/settings.json", ".vscode/launch.json", ".vscode/mcp.json", "~/.config/JetBrains/", ".idea/", ".fleet/",
		"~/.config/sublime-text/", ".vim/coc-settings.json", ".luarc.json", "/etc/vim/", "/etc/emacs/", "/etc/nanorc", ".devcontainer/", ".devcontainer.json", "~/.nanorc",
	}},
	{LevelHold, "steers an agent and what it may run", []string{
		".claude/", "~/.claude.json", ".mcp.json", ".codex/", ".gemini/", ".cursor/", "~/.config/Cursor/", ".windsurf/", ".aider.conf.yml",
		".opencode/", "opencode.json", "opencode.jsonc", "~/.config/opencode/", ".continue/", ".roo/", ".kiro/", ".qwen/",
		".amp/", "~/.config/amp/", "~/.config/goose/", ".crush.json", "crush.json", "~/.config/crush/", "~/.config/github-copilot/",
		"~/.config/Claude/", ".copilot/", ".junie/", ".trae/", ".agents/", ".openhands/", ".augment/", ".factory/", "~/.codeium/",
	}},
	{LevelHold, "starts programs in the browser, or is logged in there", []string{
		"~/.mozilla/", "~/.config/google-chrome/", "~/.config/chromium/", "~/.config/BraveSoftware/", "~/.config/vivaldi/",
		"~/.config/microsoft-edge/", "~/.thunderbird/", "/etc/opt/chrome/", "/etc/chromium/", "/etc/firefox/", "/etc/brave/",
		"/usr/lib/mozilla/", "/usr/lib64/mozilla/",
	}},
	{LevelHold, "runs in a program that is started every day", []string{
		"~/.mailcap", "~/.muttrc", "~/.config/mutt/", "~/.config/mpv/", "~/.config/ranger/", "~/.config/lf/", "~/.config/yazi/",
		"~/.config/vifm/", "~/.config/rofi/", "~/.lessfilter", "~/.lesskey", "/etc/mailcap",
	}},
	{LevelHold, "sets the walls of this sandbox", []string{"~/.config/sandbox/"}},
	{LevelHold, "runs in every terminal", []string{
		"~/.tmux.conf", "~/.config/tmux/", "~/.tmux/", "~/.screenrc", "~/.wezterm.lua", "~/.config/wezterm/", "~/.config/kitty/",
		"~/.config/ghostty/", "~/.config/zellij/", "~/.inputrc",
	}},
	{LevelHold, "runs when the interpreter or debugger starts", []string{
		"sitecustomize.py", "usercustomize.py", "~/.pythonrc", "~/.pythonrc.py", "~/.ipython/", "~/.jupyter/", "~/.pdbrc", ".pdbrc", "~/.pdbrc.py", "~/.irbrc",
		".irbrc", "~/.pryrc", ".pryrc", "~/.Rprofile", ".Rprofile", "~/.gdbinit", ".gdbinit", "~/.config/gdb/", "~/.lldbinit",
		".lldbinit", "~/.psqlrc", "~/.sqliterc", "~/.perldb", "~/.gradle/init.gradle", "~/.gradle/init.d/",
		"~/.julia/config/",
	}},

	{LevelMark, "a package manager takes commands or sources from it", []string{
		".npmrc", "~/.npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".yarn/releases/", ".yarn/plugins/", "bunfig.toml",
		"pip.conf", "~/.pip/", "~/.config/pip/", "~/.config/uv/", "~/.condarc", ".cargo/config.toml", ".cargo/config",
		"~/.m2/settings.xml", ".mvn/", "~/.gradle/gradle.properties", "~/.sbt/", "~/.gemrc", ".bundle/config",
		"~/.config/composer/", "~/.config/containers/", ".bazelrc", "~/.bazelrc", "mise.toml", ".mise.toml", ".tool-versions",
		".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "~/.config/go/env", ".mise/", ".mise.local.toml", ".config/mise.toml",
		"rust-toolchain.toml", "rust-toolchain", "gradle/wrapper/", "ansible.cfg", "~/.config/pypoetry/",
	}},
	{LevelMark, "stands where commands are looked for", []string{
		"~/bin/", "~/.local/bin/", "~/.cargo/bin/", "~/go/bin/", "~/.npm-global/bin/", "~/.bun/bin/", "~/.deno/bin/",
		"~/.pyenv/shims/", "~/.rbenv/shims/", "~/.asdf/shims/", "~/.local/share/mise/shims/", "~/.nix-profile/",
		"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/", "/opt/bin/",
	}},
	{LevelMark, "starts a program from a menu or by file type", []string{
		"~/.local/share/applications/", "~/.config/mimeapps.list", "/usr/share/applications/",
	}},
	{LevelMark, "runs in continuous integration", []string{
		".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".gitlab/ci/", ".circleci/", "Jenkinsfile", ".travis.yml",
		"azure-pipelines.yml", ".azure-pipelines/", ".drone.yml", ".woodpecker/", ".woodpecker.yml", ".buildkite/",
		"bitbucket-pipelines.yml", ".forgejo/workflows/", ".gitea/workflows/", "appveyor.yml", ".appveyor.yml", ".ci/",
		".builds/", ".build.yml",
	}},
	{LevelMark, "instructs agents that work here", []string{
		"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md", "QWEN.md", ".cursorrules", ".windsurfrules",
		".clinerules/", ".roorules", ".goosehints", ".github/copilot-instructions.md", ".github/instructions/", ".github/prompts/",
	}},
	{LevelMark, "chooses which filters git runs", []string{".gitattributes", ".lfsconfig", ".gitmodules"}},
	{LevelMark, "configures this machine", []string{"/etc/"}},
	{LevelMark, "names where other machines are", []string{"/etc/hosts", "/etc/resolv.conf"}},
}

type group struct {
	level  Level
	reason string
	places []string
}
