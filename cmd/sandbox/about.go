package main

import (
	"context"
	"path/filepath"
	"runtime"
)

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func showVersion(_ context.Context, a *app) error {
	if a.json {
		a.answer(document{"version": version, "go": runtime.Version(), "arch": runtime.GOARCH})
	} else {
		a.printf("sandbox %s (%s, %s)\n", version, runtime.Version(), runtime.GOARCH)
	}
	return a.finish()
}

func showConfig(_ context.Context, a *app) error {
	if err := a.noArgs(); err != nil {
		return err
	}
	s, err := a.settings()
	if err != nil {
		return err
	}
	if a.json {
		value := func(text, from string) document {
			d := document{}
			putText(d, "value", text)
			putText(d, "from", from)
			return d
		}
		a.answer(document{"file": s.File, "settings": document{
			"name":        value(s.Name.Text, s.Name.From),
			"storage_dir": value(s.StorageDir.Text, s.StorageDir.From),
			"net":         value(s.Net.Text, s.Net.From),

			"rename_emulation": value(s.RenameEmulation.Text, s.RenameEmulation.From),
		}})
		return a.finish()
	}
	a.printColumns([][]string{
		{"name", "=", a.safe(s.Name.Text), a.safe("(" + s.Name.From + ")")},
		{"storage_dir", "=", a.safe(s.StorageDir.Text), a.safe("(" + s.StorageDir.From + ")")},
		{"net", "=", a.safe(s.Net.Text), a.safe("(" + s.Net.From + ")")},
		{"rename_emulation", "=", a.safe(s.RenameEmulation.Text), a.safe("(" + s.RenameEmulation.From + ")")},
	})
	return a.finish()
}
