package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"golang.org/x/sys/unix"

	"sandbox/engine/fault"
)

// maxFile is far beyond any real configuration file.
const maxFile = 1 << 20

// parse reads one configuration file into s.
func (s *Settings) parse(path string) error {
	text, err := read(path)
	if err != nil {
		return err
	}
	var table map[string]toml.Primitive
	md, err := toml.Decode(text, &table)
	if err != nil {
		return wrong(path, 1, err)
	}
	done := map[string]bool{}
	for _, full := range md.Keys() {
		key := full[0]
		if done[key] {
			continue // another key below the same table
		}
		done[key] = true
		value, at := setting{key: key}, line(text, key)
		if err := md.PrimitiveDecode(table[key], &value); err != nil {
			return wrong(path, at, err)
		}
		to := map[string]*Value{"name": &s.Name, "storage_dir": &s.StorageDir, "net": &s.Net, "rename_emulation": &s.RenameEmulation}[key]
		*to = Value{value.text, path + ":" + strconv.Itoa(at)}
	}
	return nil
}

// setting is the value of one key. Its errors reach the caller with their
// position, because the toml package adds it.
type setting struct{ key, text string }

// UnmarshalTOML implements toml.Unmarshaler.
func (v *setting) UnmarshalTOML(data any) error {
	if v.key == "rename_emulation" {
		on, ok := data.(bool)
		if !ok {
			return errors.New("rename_emulation must be true or false")
		}
		v.text = strconv.FormatBool(on)
		return nil
	}
	check := map[string]func(string) error{"name": CheckName, "net": CheckNet, "storage_dir": checkStorage}[v.key]
	if check == nil {
		return fmt.Errorf("unknown key %s; the keys are name, net, rename_emulation and storage_dir", quote(v.key))
	}
	text, ok := data.(string)
	if !ok {
		return fmt.Errorf("%s must be a string in quotes", v.key)
	}
	v.text = text
	return check(text)
}

func checkStorage(dir string) error {
	if dir == "~" || strings.HasPrefix(dir, "~/") || strings.HasPrefix(dir, "/") {
		return nil
	}
	return errors.New("storage_dir must begin with / or ~/")
}

// wrong turns an error of the toml package into ours, with FILE:LINE. The line
// at stands in where the package knows none.
func wrong(path string, at int, err error) error {
	reason := err.Error()
	var pe toml.ParseError
	if errors.As(err, &pe) {
		reason = pe.Message
		if pe.Position.Line > 0 {
			at = pe.Position.Line
		}
	}
	return fault.New(fault.Config, "read the configuration", path+":"+strconv.Itoa(at), reason,
		"Correct the file, or run with --no-config.")
}

// line finds the line of a top-level key, bare, quoted or with more keys after
// a dot, that is known to be there.
func line(text, key string) int {
	for i, l := range strings.Split(text, "\n") {
		name, _, _ := strings.Cut(l, "=")
		first, _, _ := strings.Cut(strings.TrimSpace(name), ".")
		if strings.Trim(strings.TrimSpace(first), `"'`) == key {
			return i + 1
		}
	}
	return 1
}

// read returns the text of a regular file, and never waits for a FIFO.
func read(path string) (string, error) {
	fail := func(err error) (string, error) {
		return "", &fault.Error{
			Code: fault.Config, Op: "read the configuration", Path: path, Err: bare(err),
			Hint: "Correct the path, or run with --no-config.",
		}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) //nolint:gosec // the user's own file
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return fail(err)
	}
	if !st.Mode().IsRegular() {
		return fail(errors.New("it is not a regular file"))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return fail(err)
	}
	if len(b) > maxFile {
		return fail(errors.New("it is larger than 1 MiB"))
	}
	return string(b), nil
}

// bare takes the operation and path off an error of package os: the fault says them.
func bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// quote shows a text that may hold anything.
func quote(s string) string { return strconv.Quote(s) }
