package nvimtest

import (
	"os"
	"strings"
	"testing"
	"time"
)

// Option changes how Start starts the editor.
type Option func(testing.TB, *settings)

type settings struct {
	binary        string
	width, height int
	args          []string
	inits         []string
	env           []string
	dir, home     string
	uid, gid      int
	clean         bool
	timeout       time.Duration
}

func defaults() *settings {
	return &settings{
		width: 100, height: 30,
		uid: os.Geteuid(), gid: os.Getegid(),
		clean:   true,
		timeout: 20 * time.Second,
	}
}

// Version chooses the editor, "0.10" or "0.12". The default is the newest.
func Version(version string) Option {
	return func(tb testing.TB, s *settings) { s.binary = Binary(tb, version) }
}

// Size is the screen's, in cells. The default is 100 by 30.
func Size(width, height int) Option {
	return func(_ testing.TB, s *settings) { s.width, s.height = width, height }
}

// Plugin puts this checkout's plugin in the runtime path, as a plugin manager
// would.
func Plugin() Option {
	return func(tb testing.TB, s *settings) {
		s.args = append(s.args, "--cmd", "set runtimepath^="+escape(Root(tb)))
	}
}

// Init runs Lua before any plugin is loaded, like a user's init.lua.
func Init(lua string) Option {
	return func(_ testing.TB, s *settings) { s.inits = append(s.inits, lua) }
}

// UserConfig makes the editor read $XDG_CONFIG_HOME/nvim below the home given
// with Home, as a user's own editor does. Without it the editor is --clean.
func UserConfig() Option {
	return func(_ testing.TB, s *settings) { s.clean = false }
}

// Args are passed on to the editor, after those of the other options.
func Args(args ...string) Option {
	return func(_ testing.TB, s *settings) { s.args = append(s.args, args...) }
}

// Env adds KEY=value pairs to the editor's environment, which holds nothing of
// the test's but PATH.
func Env(pairs ...string) Option {
	return func(_ testing.TB, s *settings) { s.env = append(s.env, pairs...) }
}

// Dir is the editor's working directory. The default is its home.
func Dir(dir string) Option {
	return func(_ testing.TB, s *settings) { s.dir = dir }
}

// Home is an existing folder to use as $HOME instead of a fresh one. It is left
// where it is.
func Home(dir string) Option {
	return func(_ testing.TB, s *settings) { s.home = dir }
}

// User runs the editor as another user, with no supplementary groups. Only root
// may. Whatever the editor is to read must be readable for that user.
func User(uid, gid int) Option {
	return func(_ testing.TB, s *settings) { s.uid, s.gid = uid, gid }
}

// Timeout bounds each wait. The default is 20 seconds.
func Timeout(d time.Duration) Option {
	return func(_ testing.TB, s *settings) { s.timeout = d }
}

// escape makes a path safe as a value of :set.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, " ", `\ `, ",", `\\,`, "|", `\|`, `"`, `\"`).Replace(path)
}
