package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// Sandboxes of the rename table, each with its configuration.
const (
	emulated = "emulated"
	plain    = "plain"
)

// filtered executes a command below a seccomp filter that allows everything: what
// a filter costs by itself, without anybody who is told.
const filtered = `import ctypes, os, sys
class Prog(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]
code = (ctypes.c_uint64 * 4)(4 << 32 | 0x20, 0x20, 0x7fff0000 << 32 | 6, 0)
libc = ctypes.CDLL(None)
libc.prctl(22, 2, ctypes.byref(Prog(3, ctypes.addressof(code))))
os.execvp(sys.argv[1], sys.argv[1:])
`

const loop = `import os
open("a", "w").close()
for i in range(3000): os.rename("a", "b"); os.rename("b", "a")
`

// renames measures what it costs programs that init is told of their renames,
// in a sandbox with the emulation, in one without, and in one without below an
// idle filter more.
func (b *bench) renames() error {
	config := filepath.Join(b.work, "plain.toml")
	project := filepath.Join(b.work, "renames")
	for path, text := range map[string]string{
		config: "rename_emulation = false\n", filepath.Join(b.work, "filtered.py"): filtered, filepath.Join(b.work, "loop.py"): loop,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := makeProject(project, b.files); err != nil {
		return err
	}
	for i := range 2 * b.reviews { // two rows share a sandbox, and each needs trees of the host's
		if err := makeProject(filepath.Join(b.work, "trees", fmt.Sprint(i)), b.files/4); err != nil {
			return err
		}
	}
	arms := []struct {
		name   string
		prefix []string
	}{
		{"with the emulation", b.command(emulated)},
		{"without", append([]string{b.binary, "--config", config}, b.command(plain)[2:]...)},
		{"without, below an idle filter", append(append([]string{b.binary, "--config", config}, b.command(plain)[2:]...), "python3", "filtered.py")},
	}
	programs := []struct {
		name string
		argv []string
	}{
		{"6,000 renames of a file", []string{"python3", "loop.py"}},
		{"`python3 -m compileall`", []string{"sh", "-c", "rm -rf pyc; mkdir pyc; for i in $(seq 100); do echo 'x = 1' > pyc/m$i.py; done; python3 -m compileall -q pyc"}},
		{"`git add` of the tree", []string{"sh", "-c", "cd renames && rm -rf .git && git init -q . && git add ."}},
		{fmt.Sprintf("`mv` of a directory of %d files", b.files/4), []string{"sh", "-c", "i=$(cat n 2>/dev/null || echo 0); echo $((i+1)) > n; mv trees/$i trees/moved$i"}},
	}
	fmt.Printf("#### Renames\n\n%d runs of each row, in turns. %d files in the tree. Without the emulation `mv` copies.\n\n", b.reviews, b.files)
	var rows []*row
	for _, p := range programs {
		for _, a := range arms {
			rows = append(rows, &row{name: p.name + ", " + a.name, argv: append(append([]string{}, a.prefix...), p.argv...)})
		}
	}
	for _, a := range arms[:2] {
		if err := b.do(append(append([]string{}, a.prefix...), "true")...); err != nil {
			return err
		}
	}
	if err := b.measure(b.reviews, rows); err != nil {
		return err
	}
	table(rows)
	if err := b.remove(emulated); err != nil {
		return err
	}
	return b.remove(plain)
}
