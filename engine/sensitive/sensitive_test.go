package sensitive

import (
	"strings"
	"testing"

	"sandbox/engine/entry"
)

var (
	nothing = entry.Entry{Type: entry.None}
	plain   = entry.Entry{Type: entry.File, Mode: 0o644}
	script  = entry.Entry{Type: entry.File, Mode: 0o755}
	folder  = entry.Entry{Type: entry.Dir, Mode: 0o755}
)

func symlink(to string) entry.Entry {
	return entry.Entry{Type: entry.Symlink, Mode: 0o777, Target: to}
}

func mode(m uint32) entry.Entry { return entry.Entry{Type: entry.File, Mode: m} }

func TestFor(t *testing.T) {
	const home = "/srv/people/ann"
	for _, c := range []struct {
		path          string
		host, sandbox entry.Entry
		want          Level
	}{
		// git
		{"/p/.git/hooks/pre-commit", nothing, script, LevelHold},
		{"/p/.git/hooks/pre-commit.sample", nothing, plain, ""},
		{"/p/.git/hooks/pre-commit.sample", nothing, script, LevelMark}, // for its mode only
		{"/p/.git/hooks/lib/x", nothing, plain, LevelHold},
		{"/p/.git/hooks/post-checkout", script, nothing, LevelHold}, // deleted
		{"/p/.git/hooks", nothing, folder, ""},                      // its files have rows
		{"/p/.git/hooks", folder, nothing, LevelHold},
		{"/p/.git/hooks", folder, symlink("../x"), LevelHold},
		{"/p/.git/config", plain, plain, LevelHold},
		{"/p/.git/config.worktree", nothing, plain, LevelHold},
		{"/p/.git/info/attributes", nothing, plain, LevelHold},
		{"/p/.git/info/exclude", nothing, plain, ""},
		{"/p/.git/refs/heads/config", nothing, plain, ""},
		{"/p/.git/modules/lib/config", nothing, plain, LevelHold},
		{"/p/.git/modules/a/b/hooks/post-merge", nothing, plain, LevelHold},
		{"/p/.git/index", plain, plain, ""},
		{"/p/.git/objects/ab/cdef", nothing, plain, ""},
		{"/p/.git", nothing, plain, LevelHold},
		{"/p/.git", nothing, symlink("x"), LevelHold},
		{"/p/.git", nothing, folder, ""},
		{"/p/bare.git/hooks/update", nothing, plain, LevelHold},
		{"/p/bare.git/config", plain, plain, LevelHold},
		{"/p/.gitignore", plain, plain, ""},
		{"/p/.husky/pre-push", nothing, plain, LevelHold},

		// home directories: the user's own, root's, and any below /home
		{home + "/.bashrc", plain, plain, LevelHold},
		{"/root/.bashrc", plain, plain, LevelHold},
		{"/home/bob/.zshenv", nothing, plain, LevelHold},
		{"/p/.bashrc", nothing, plain, ""},
		{home + "/sub/.bashrc", nothing, plain, ""},
		{home + "/.ssh/authorized_keys", plain, plain, LevelHold},
		{home + "/.ssh", folder, nothing, LevelHold},
		{home + "/.config/autostart/x.desktop", nothing, plain, LevelHold},
		{home + "/.config/systemd/user/x.service", nothing, plain, LevelHold},
		{home + "/.config/nvim/init.lua", plain, plain, LevelHold},
		{home + "/.config/nvim", nothing, folder, ""},
		{home + "/.config/other/x", plain, plain, ""},
		{home + "/.config/sandbox/config.toml", plain, plain, LevelHold},
		{home + "/.zcompdump-host-5.9", nothing, plain, LevelHold},
		{home + "/.config", folder, symlink("/tmp/x"), LevelHold}, // all of it is elsewhere then
		{home + "/.config", nothing, symlink("dotfiles/config"), LevelHold},
		{home + "/.local", folder, symlink("x"), LevelHold},
		{home + "/.config", folder, folder, ""},
		{home + "/.config/containers/systemd/x.container", nothing, plain, LevelHold},
		{home + "/.local/share/direnv/allow/0", nothing, plain, LevelHold},
		{home + "/.mozilla/native-messaging-hosts/x.json", nothing, plain, LevelHold},
		{home + "/.local/bin/ls", nothing, plain, LevelMark},
		{home + "/.local/share/x", nothing, plain, ""},
		{home + "/notes.txt", plain, plain, ""},

		// projects
		{"/p/.envrc", nothing, plain, LevelHold},
		{"/p/.vscode/tasks.json", plain, plain, LevelHold},
		{"/p/.vscode/cspell.json", plain, plain, ""},
		{"/p/.claude/settings.json", nothing, plain, LevelHold},
		{"/p/.codex/config.toml", nothing, plain, LevelHold},
		{"/p/AGENTS.md", nothing, plain, LevelMark},
		{"/p/.nvim.lua", nothing, plain, LevelHold},
		{"/p/.idea/workspace.xml", plain, plain, LevelHold},
		{"/p/.github/workflows/ci.yml", plain, plain, LevelMark},
		{"/p/.github/CODEOWNERS", plain, plain, ""},
		{"/p/.gitlab-ci.yml", plain, plain, LevelMark},
		{"/p/.npmrc", nothing, plain, LevelMark},
		{"/p/pip.conf", nothing, plain, LevelMark},
		{"/p/src/main.go", plain, plain, ""},
		{"/p/Makefile", plain, plain, ""},
		{"/p/Makefile", nothing, plain, LevelMark},
		{"/p/Makefile", plain, nothing, ""},
		{"/p/package.json", nothing, plain, LevelMark},
		{"/p/node_modules/x/package.json", nothing, plain, ""},
		{"/p/venv/lib/python3.11/site-packages/x.pth", nothing, plain, LevelHold},
		{"/p/x.pth", nothing, plain, ""},
		{"/p/all.code-workspace", plain, plain, LevelMark},
		{"/p/.gitattributes", plain, plain, LevelMark},
		{"/p/CLAUDE.md", plain, plain, LevelMark},
		{"/p/.vscode/tasks.json", plain, nothing, LevelHold},
		{"/p/.vscode", folder, symlink("../x"), LevelHold},
		{"/p/.VSCODE/tasks.json", nothing, plain, ""}, // another name here

		// the machine
		{"/etc/cron.d/x", nothing, plain, LevelHold},
		{"/var/spool/cron/crontabs/ann", nothing, plain, LevelHold},
		{"/etc/crontab", plain, plain, LevelHold},
		{"/etc/crontab.old", nothing, plain, LevelMark},
		{"/etc/unheard-of/x", plain, nothing, LevelMark},
		{"/etcetera", nothing, plain, ""},
		{"/etc/passwd", plain, plain, LevelHold},
		{"/etc/systemd/system/x.service", nothing, plain, LevelHold},
		{"/usr/bin/x", nothing, script, LevelMark},
		{"/usr/share/doc/x", nothing, plain, ""},

		// modes
		{"/p/run", nothing, script, LevelMark},
		{"/p/run", plain, script, LevelMark},
		{"/p/run", script, script, ""},
		{"/p/run", script, plain, ""},
		{"/p/run", mode(0o700), mode(0o755), ""},
		{"/p/su", nothing, mode(0o4755), LevelHold},
		{"/p/su", mode(0o4755), mode(0o4755), ""},
		{"/p/sg", script, mode(0o2755), LevelHold},
		{"/p/lock", plain, mode(0o2644), ""}, // setgid without x is no execution
		{"/p/dir", nothing, entry.Entry{Type: entry.Dir, Mode: 0o2775}, ""},
		{"/p/dev", nothing, entry.Entry{Type: entry.Block, Rdev: 1}, LevelHold},

		// links
		{"/p/a/l", nothing, symlink("/etc/passwd"), LevelMark},
		{"/p/a/l", nothing, symlink("/p/a/b"), ""},
		{"/p/a/l", nothing, symlink("/p/a/../../etc"), LevelMark},
		{"/p/a/l", nothing, symlink("../b"), ""},
		{"/p/a/l", nothing, symlink("../../etc/passwd"), LevelMark},
		{"/p/a/l", symlink("/etc/passwd"), symlink("/etc/passwd"), ""},
		{"/p/a/l", symlink("b"), symlink("/etc/passwd"), LevelMark},
		{home + "/p/node_modules/.bin/x", nothing, symlink("../x/cli.js"), ""},
		{home + "/p/l", nothing, symlink("../../../../etc/passwd"), LevelMark},
		{home + "/p/l", nothing, symlink("../../bob"), LevelMark},
		{home + "/p/l", nothing, symlink("../.ssh/id_ed25519"), LevelMark},
		{home + "/.bashrc", plain, symlink("/tmp/x"), LevelHold},

		// bytes
		{"/p/\xff\n/.envrc", nothing, plain, LevelHold},
		{"/", folder, folder, ""},
	} {
		got := For(c.path, home, c.host, c.sandbox)
		level := Level("")
		if got != nil {
			level = got.Level
			if got.Reason == "" || strings.HasSuffix(got.Reason, ".") {
				t.Errorf("%s: reason %q", c.path, got.Reason)
			}
		}
		if level != c.want {
			t.Errorf("%q %s→%s(%o %s): %q (%v), want %q", c.path, c.host.Type, c.sandbox.Type, c.sandbox.Mode, c.sandbox.Target, level, got, c.want)
		}
	}
}

// One fixture for each entry of the catalogue, made from the entry itself.
func TestEveryPlaceIsFound(t *testing.T) {
	const home = "/srv/ann"
	for _, g := range catalogue {
		for _, place := range g.places {
			p := place
			switch place[0] {
			case '~':
				p = home + place[1:]
			case '/':
			default:
				p = "/some/project/" + place
			}
			if strings.HasSuffix(p, "/") {
				p += "deep/er"
			}
			p = strings.Replace(p, "*", "-x", 1)
			m := For(p, home, plain, plain)
			if m == nil || (g.level == LevelHold && m.Level != LevelHold) {
				t.Errorf("%s (%s): %v", place, p, m)
			}
		}
	}
}

func TestForTree(t *testing.T) {
	const home = "/srv/ann"
	for p, want := range map[string]Level{
		"/p/.git":               LevelHold,
		"/p/bare.git":           LevelHold,
		"/p/.vscode":            LevelHold,
		"/p/.claude":            LevelHold,
		"/p/.claude/x":          "", // For covers what is below a listed tree
		"/p/.github":            LevelMark,
		"/p/src":                "",
		home + "/.config":       LevelHold,
		home + "/.ssh":          LevelHold,
		home + "/.local":        LevelHold, // share/fish
		home + "/projects":      "",
		"/etc":                  LevelHold,
		"/usr/local":            LevelHold,
		home + "/.config/other": "",
	} {
		got := ForTree(p, home)
		if (got == nil && want != "") || (got != nil && got.Level != want) {
			t.Errorf("%s: %v, want %q", p, got, want)
		}
	}
}

func BenchmarkFor(b *testing.B) {
	for b.Loop() {
		For("/home/ann/projects/thing/node_modules/left-pad/lib/deep/index.js", "/home/ann", nothing, plain)
	}
}
