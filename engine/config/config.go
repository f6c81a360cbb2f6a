// Package config finds the settings of the command line: flags first, then the
// environment, then the configuration file, then what is built in. Every value
// knows where it came from, so that `sandbox config` can say so.
//
// The file is $XDG_CONFIG_HOME/sandbox/config.toml (~/.config by default):
//
//	name        = "agent"        # sandbox that is used without --name
//	storage_dir = "~/sandboxes"  # where sandboxes are kept
//	net         = "none"         # network of new sandboxes: none or host
//
//	rename_emulation = false     # leave renames of the host's directories to the kernel
package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sandbox/engine/fault"
)

// What is built in.
const (
	DefaultName = "sandbox"
	DefaultNet  = "none"
	// DefaultStorage is below the home directory.
	DefaultStorage = ".sandboxes"
	// StorageVariable is the environment variable for storage_dir.
	StorageVariable = "SANDBOX_STORAGE_DIR"
)

// Value is one setting.
type Value struct {
	Text string
	// From says where the value comes from: "flag --name", "environment
	// variable SANDBOX_STORAGE_DIR", "FILE:LINE" or "default".
	From string
}

// Settings are the settings that decide about a call.
type Settings struct {
	Name       Value
	StorageDir Value // absolute
	Net        Value // none or host
	// RenameEmulation, true or false, lets an ordinary user's sandbox rename
	// directories of the host.
	RenameEmulation Value
	File            string // configuration file that was read, "" for none
}

// Flags are the values given on the command line; "" means not given.
type Flags struct {
	Name       string
	StorageDir string
	Net        string
	File       string // --config
	NoFile     bool   // --no-config
}

// Load merges all sources. Its errors have code Usage for a wrong flag or
// variable and Config for a wrong file.
func Load(flags Flags) (Settings, error) {
	s := Settings{
		Name: Value{DefaultName, "default"},
		Net:  Value{DefaultNet, "default"},

		RenameEmulation: Value{"true", "default"},
	}
	if !flags.NoFile {
		if err := s.readFile(flags.File); err != nil {
			return s, err
		}
	}
	if v := os.Getenv(StorageVariable); v != "" {
		s.StorageDir = Value{v, "environment variable " + StorageVariable}
	}
	set := func(to *Value, text, flag string) {
		if text != "" {
			*to = Value{text, "flag " + flag}
		}
	}
	set(&s.Name, flags.Name, "--name")
	set(&s.StorageDir, flags.StorageDir, "--storage-dir")
	set(&s.Net, flags.Net, "--net")
	if err := CheckName(s.Name.Text); err != nil {
		return s, err
	}
	if err := CheckNet(s.Net.Text); err != nil {
		return s, err
	}
	return s, s.findStorage()
}

// readFile reads the configuration file; only one that was named must exist.
func (s *Settings) readFile(named string) error {
	path := named
	if path == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil //nolint:nilerr // no HOME, so no file of the user's
		}
		path = filepath.Join(dir, "sandbox", "config.toml")
	}
	err := s.parse(path)
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		s.File = path
	}
	return err
}

// findStorage makes the storage directory absolute.
func (s *Settings) findStorage() error {
	home, err := os.UserHomeDir()
	if s.StorageDir.Text == "" {
		if err != nil {
			return fault.New(fault.Usage, "find the storage directory", "", "HOME is not set", "Set HOME, or give --storage-dir DIR.")
		}
		s.StorageDir = Value{filepath.Join(home, DefaultStorage), "default"}
		return nil
	}
	dir, err := expand(s.StorageDir.Text, home)
	if err != nil {
		return err
	}
	s.StorageDir.Text = dir
	return nil
}

// expand turns ~ and relative paths into absolute ones.
func expand(dir, home string) (string, error) {
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		if home == "" {
			return "", fault.New(fault.Usage, "find the storage directory", dir, "HOME is not set", "Give an absolute path.")
		}
		return filepath.Join(home, dir[1:]), nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.New(fault.Usage, "find the storage directory", dir, "the working directory is gone", "Give an absolute path.")
	}
	return abs, nil
}

// CheckNet accepts the networks that exist.
func CheckNet(net string) error {
	switch net {
	case "none", "host":
		return nil
	case "filtered":
		return fault.New(fault.Usage, "choose the network", net, "the filtered network is not there yet", "Use none or host.")
	}
	return fault.New(fault.Usage, "choose the network", net, "there is no such network", "Use none or host.")
}

// maxName keeps a sandbox's socket path within the 108 bytes that the kernel allows.
const maxName = 64

// CheckName accepts the names that a sandbox may have: 1 to 64 letters,
// digits, dots, underscores and dashes, beginning with a letter, a digit or an
// underscore. It is a directory name and an argument, so it is neither hidden
// nor an option, and never leads out of the storage directory.
func CheckName(name string) error {
	bad := func(reason string) error {
		return fault.New(fault.Usage, "use the sandbox name", quote(name), reason,
			"Use letters, digits, '.', '_' and '-', not beginning with '.' or '-', at most 64.")
	}
	switch {
	case name == "":
		return bad("it is empty")
	case len(name) > maxName:
		return bad("it is too long")
	case name[0] == '.' || name[0] == '-':
		return bad("it begins with '" + name[:1] + "'")
	}
	for i := range len(name) {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' {
			continue
		}
		return bad("it holds a character that is not allowed")
	}
	return nil
}
