package main

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

//go:embed project agent.sh
var files embed.FS

const name = "demo"

// demo is one run: a fresh project, and a storage directory that has nothing to
// do with the user's own sandboxes.
type demo struct {
	root    string // the checkout
	binary  string // of sandbox
	work    string // everything that this run makes
	project string
	storage string
	agent   string
	word    string            // made up for this run, part of one edit
	before  map[string][]byte // the project as the agent found it
}

func prepare(root, binary string) (*demo, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp(home, "sandbox-demo-")
	if err != nil {
		return nil, err
	}
	d := &demo{
		root: root, binary: binary, work: work,
		project: filepath.Join(work, "todo"), storage: filepath.Join(work, "storage"),
		agent: filepath.Join(work, "agent.sh"),
		word:  "motto-" + strings.ToLower(rand.Text()[:10]),
	}
	if err := d.write(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(work))
	}
	d.before, err = d.tree()
	return d, err
}

// write lays the project and the agent out.
func (d *demo) write() error {
	project, err := fs.Sub(files, "project")
	if err != nil {
		return err
	}
	if err := os.CopyFS(d.project, project); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(d.project, ".git", "hooks"), 0o755); err != nil {
		return err
	}
	script, err := files.ReadFile("agent.sh")
	if err != nil {
		return err
	}
	return os.WriteFile(d.agent, script, 0o755)
}

// clean ends the sandbox and removes everything that this run made.
func (d *demo) clean() error {
	var failed error
	if _, err := os.Stat(d.storage); err == nil {
		_, failed = d.sandbox("delete", "-y")
	}
	return errors.Join(failed, os.RemoveAll(d.work))
}

// tree reads every file of the project on the host.
func (d *demo) tree() (map[string][]byte, error) {
	tree := map[string][]byte{}
	err := filepath.WalkDir(d.project, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		tree[path] = data
		return err
	})
	return tree, err
}

// command makes a `sandbox` command line for this run's sandbox.
func (d *demo) command(args ...string) *exec.Cmd {
	args = append([]string{"--no-config", "--storage-dir", d.storage, "--name", name}, args...)
	cmd := exec.Command(d.binary, args...)
	cmd.Dir = d.project
	return cmd
}

// sandbox runs `sandbox` and returns what it printed.
func (d *demo) sandbox(args ...string) ([]byte, error) {
	cmd := d.command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("sandbox %s: %w\n%s%s", strings.Join(args, " "), err, stderr.Bytes(), out)
	}
	return out, nil
}

// show prints a heading in a user's words, and what `sandbox` prints.
func (d *demo) show(args ...string) error {
	fmt.Printf("\n$ sandbox %s\n", strings.Join(args, " "))
	out, err := d.sandbox(args...)
	os.Stdout.Write(out) //nolint:errcheck // a demo has nobody to tell
	return err
}

func (d *demo) letTheAgentWork() error {
	fmt.Printf("A small project is in %s. An agent edits it in a sandbox:\n", d.project)
	if err := d.show("sh", d.agent, d.word); err != nil {
		return err
	}
	after, err := d.tree()
	if err != nil {
		return err
	}
	if changed := compare(d.before, after); len(changed) != 0 {
		return fmt.Errorf("the agent changed the host: %s", strings.Join(changed, ", "))
	}
	fmt.Println("\nOn the host nothing has changed yet.")
	return nil
}

// acceptOneBlock is the demo without a terminal.
func (d *demo) acceptOneBlock() error {
	if err := d.show("status"); err != nil {
		return err
	}
	if err := d.show("diff"); err != nil {
		return err
	}
	id, err := d.blockWithTheWord()
	if err != nil {
		return err
	}
	if err := d.show("accept", "--hunk", id); err != nil {
		return err
	}
	return d.checkTheBlock()
}

// blockWithTheWord finds the block that sets the motto, in the diff that
// programs read.
func (d *demo) blockWithTheWord() (string, error) {
	out, err := d.sandbox("diff", "--json")
	if err != nil {
		return "", err
	}
	var diff struct {
		Files []struct {
			Hunks []struct {
				ID    string
				Lines json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(out, &diff); err != nil {
		return "", fmt.Errorf("diff --json: %w", err)
	}
	for _, file := range diff.Files {
		for _, hunk := range file.Hunks {
			if bytes.Contains(hunk.Lines, []byte(d.word)) {
				return hunk.ID, nil
			}
		}
	}
	return "", fmt.Errorf("no block of diff --json holds %s", d.word)
}

// checkTheBlock proves that the accepted block, and nothing else, is on the host.
func (d *demo) checkTheBlock() error {
	after, err := d.tree()
	if err != nil {
		return err
	}
	program := filepath.Join(d.project, "todo.py")
	want := bytes.Replace(d.before[program],
		[]byte("FILE = \"todo.txt\"\n"), []byte("FILE = \"todo.txt\"\nMOTTO = \""+d.word+"\"\n"), 1)
	if !bytes.Equal(after[program], want) {
		return fmt.Errorf("todo.py on the host is not the old one with the accepted block:\n%s", after[program])
	}
	if changed := compare(d.before, after); len(changed) != 1 {
		return fmt.Errorf("more than todo.py changed on the host: %s", strings.Join(changed, ", "))
	}
	fmt.Printf("\nOn the host, todo.py now holds the block, and nothing else has changed:\n")
	for number, line := range strings.Split(string(after[program]), "\n") {
		if strings.Contains(line, d.word) {
			fmt.Printf("%4d  %s\n", number+1, line)
		}
	}
	fmt.Println("\nIn a terminal, make demo opens the review in Neovim here.")
	return nil
}

// review is the demo with a terminal.
func (d *demo) review() error {
	nvim, err := exec.Command(filepath.Join(d.root, "scripts", "nvim.sh"), "--any").Output()
	if err != nil {
		return fmt.Errorf("no Neovim: %w", err)
	}
	cmd := exec.Command(strings.TrimSpace(string(nvim)), "--clean",
		"--cmd", "let &runtimepath = $SANDBOX_DEMO_ROOT .. ',' .. &runtimepath",
		// The file type plugin of Python looks for a provider, which can take seconds.
		"--cmd", "let g:loaded_python3_provider = 0",
		"-c", "SandboxReview "+name)
	cmd.Dir = d.project
	cmd.Env = append(os.Environ(), "SANDBOX_DEMO_ROOT="+d.root, "SANDBOX_STORAGE_DIR="+d.storage)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("nvim: %w", err)
	}
	after, err := d.tree()
	if err != nil {
		return err
	}
	changed := compare(d.before, after)
	if len(changed) == 0 {
		fmt.Println("You accepted nothing: the project on the host is as it was.")
		return nil
	}
	fmt.Printf("What you accepted is on the host (in a project that goes away now): %s\n", strings.Join(changed, ", "))
	return nil
}

// compare names the files that differ between two trees.
func compare(a, b map[string][]byte) []string {
	var names []string
	for path, data := range a {
		if other, ok := b[path]; !ok || !bytes.Equal(data, other) {
			names = append(names, filepath.Base(path))
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			names = append(names, filepath.Base(path))
		}
	}
	slices.Sort(names)
	return names
}

func isTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}
