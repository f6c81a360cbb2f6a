package sensitive

// The catalogue. A place is written in one of five ways:
//
//	~/x     that path in a home directory
//	~/x/    that one and everything below it
//	/x      that absolute path
//	/x/     that one and everything below it
//	x/y     any path that ends so
//	x/y/    these components anywhere, and everything below them
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
		"~/.cargo/env", "~/.nvm/nvm.sh", "~/.sdkman/bin/sdkman-init.sh", "~/.config/environment.d/", "~/.pam_environment",
		"/etc/profile", "/etc/profile.d/", "/etc/bash.bashrc", "/etc/bash_completion.d/", "/etc/zsh/", "/etc/fish/",
		"/etc/environment", "/etc/skel/",
	}},
	{LevelHold, "runs at login", []string{
		"~/.xprofile", "~/.xinitrc", "~/.xsession", "~/.xsessionrc", "~/.config/autostart/", "~/.config/autostart-scripts/",
		"~/.config/plasma-workspace/", "~/.config/i3/", "~/.i3/", "~/.config/sway/", "~/.config/hypr/", "~/.config/awesome/",
		"~/.config/bspwm/", "~/.config/sxhkd/", "~/.config/openbox/", "~/.config/qtile/", "~/.config/river/",
		"~/.local/share/dbus-1/", "/etc/xdg/autostart/", "/etc/X11/", "/etc/dbus-1/", "/usr/share/dbus-1/",
	}},
	{LevelHold, "is started by systemd or init", []string{
		"~/.config/systemd/", "~/.local/share/systemd/", "/etc/systemd/", "/lib/systemd/", "/usr/lib/systemd/",
		"/usr/local/lib/systemd/", "/etc/init.d/", "/etc/rc.local", "/etc/rc0.d/", "/etc/rc1.d/", "/etc/rc2.d/", "/etc/rc3.d/",
		"/etc/rc4.d/", "/etc/rc5.d/", "/etc/rc6.d/", "/etc/rcS.d/", "/etc/inittab", "/etc/udev/", "/etc/modprobe.d/",
		"/etc/modules", "/etc/modules-load.d/", "/etc/tmpfiles.d/", "/boot/",
	}},
	{LevelHold, "runs by the clock", []string{
		"/etc/crontab", "/etc/anacrontab", "/etc/cron.d/", "/etc/cron.hourly/", "/etc/cron.daily/", "/etc/cron.weekly/",
		"/etc/cron.monthly/", "/var/spool/cron/", "/var/spool/at/",
	}},
	{LevelHold, "guards an identity", []string{
		"~/.ssh/", "~/.gnupg/", "~/.netrc", "~/.aws/", "~/.azure/", "~/.kube/", "~/.docker/config.json", "~/.docker/cli-plugins/",
		"~/.config/gcloud/", "~/.config/gh/", "~/.config/op/", "~/.password-store/", "~/.pki/", "~/.rhosts", "~/.shosts",
		"~/.git-credentials", "~/.pypirc", "~/.config/sops/",
	}},
	{LevelHold, "decides who may do what on this machine", []string{
		"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow", "/etc/subuid", "/etc/subgid", "/etc/sudoers", "/etc/sudoers.d/",
		"/etc/doas.conf", "/etc/pam.d/", "/etc/pam.conf", "/etc/security/", "/etc/ssh/", "/etc/polkit-1/", "/usr/share/polkit-1/",
		"/etc/nsswitch.conf", "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.conf.d/", "/etc/apparmor.d/", "/etc/selinux/",
		"/etc/apt/", "/etc/dpkg/", "/etc/yum.repos.d/", "/etc/dnf/", "/etc/pacman.conf", "/etc/pacman.d/", "/etc/ca-certificates/",
		"/usr/local/share/ca-certificates/", "/etc/ssl/",
	}},
	{LevelHold, "names programs that version control runs", []string{
		"~/.gitconfig", "~/.config/git/", "/etc/gitconfig", "~/.hgrc", "~/.config/hg/", ".hg/hgrc", "~/.config/jj/",
		"~/.jjconfig.toml", ".jj/repo/config.toml", ".husky/", ".githooks/", "~/.subversion/",
	}},
	{LevelHold, "runs when the directory is entered", []string{".envrc", "~/.config/direnv/", "~/.config/mise/"}},
	{LevelHold, "runs in the editor", []string{
		"~/.vimrc", "~/.gvimrc", "~/.vim/", "~/.config/vim/", "~/.config/nvim/", "~/.local/share/nvim/", ".vimrc", ".gvimrc",
		".exrc", ".nvimrc", ".nvim.lua", ".lazy.lua", "~/.emacs", "~/.emacs.d/", "~/.config/emacs/", "~/.config/doom/",
		"~/.doom.d/", ".dir-locals.el", "~/.config/helix/", ".helix/", "~/.config/kak/", "~/.config/zed/", ".zed/",
		"~/.config/Code/", "~/.config/VSCodium/", "~/.vscode/", "~/.vscode-server/", ".vscode/tasks.json",
		".vscode/settings.json", ".vscode/launch.json", ".vscode/mcp.json", "~/.config/JetBrains/", ".idea/", ".fleet/",
		"~/.config/sublime-text/", ".devcontainer/", ".devcontainer.json", "~/.nanorc",
	}},
	{LevelHold, "steers an agent and what it may run", []string{
		".claude/", "~/.claude.json", ".mcp.json", ".codex/", ".gemini/", ".cursor/", "~/.config/Cursor/", ".windsurf/", ".aider.conf.yml",
		".opencode/", "opencode.json", "opencode.jsonc", "~/.config/opencode/", ".continue/", ".roo/", ".kiro/", ".qwen/",
		".amp/", "~/.config/amp/", "~/.config/goose/", ".crush.json", "crush.json", "~/.config/crush/", "~/.config/github-copilot/",
		"~/.config/Claude/",
	}},
	{LevelHold, "sets the walls of this sandbox", []string{"~/.config/sandbox/"}},
	{LevelHold, "runs in every terminal", []string{
		"~/.tmux.conf", "~/.config/tmux/", "~/.tmux/", "~/.screenrc", "~/.wezterm.lua", "~/.config/wezterm/", "~/.config/kitty/",
		"~/.config/ghostty/", "~/.config/zellij/", "~/.inputrc",
	}},
	{LevelHold, "runs when the interpreter or debugger starts", []string{
		"sitecustomize.py", "usercustomize.py", "~/.ipython/", "~/.jupyter/", "~/.pdbrc", ".pdbrc", "~/.pdbrc.py", "~/.irbrc",
		".irbrc", "~/.pryrc", ".pryrc", "~/.Rprofile", ".Rprofile", "~/.gdbinit", ".gdbinit", "~/.config/gdb/", "~/.lldbinit",
		".lldbinit", "~/.psqlrc", "~/.sqliterc", "~/.perldb", "~/.gradle/init.gradle", "~/.gradle/init.d/",
		"~/.julia/config/",
	}},

	{LevelMark, "a package manager takes commands or sources from it", []string{
		".npmrc", "~/.npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".yarn/releases/", ".yarn/plugins/", "bunfig.toml",
		"pip.conf", "~/.pip/", "~/.config/pip/", "~/.config/uv/", "~/.condarc", ".cargo/config.toml", ".cargo/config",
		"~/.m2/settings.xml", ".mvn/", "~/.gradle/gradle.properties", "~/.sbt/", "~/.gemrc", ".bundle/config",
		"~/.config/composer/", "~/.config/containers/", ".bazelrc", "~/.bazelrc", "mise.toml", ".mise.toml", ".tool-versions",
		".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", "~/.config/go/env",
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
	{LevelMark, "names where other machines are", []string{"/etc/hosts", "/etc/resolv.conf"}},
}

type group struct {
	level  Level
	reason string
	places []string
}
