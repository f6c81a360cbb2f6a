package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const reviewed = "reviewed"

// review measures how long the review of many changes takes.
func (b *bench) review() error {
	project, pristine := filepath.Join(b.work, "project"), filepath.Join(b.work, "pristine")
	changed, added, deleted := b.files/4, b.files/8, b.files/8
	if err := makeProject(pristine, b.files); err != nil {
		return err
	}
	wanted := filepath.Join(b.work, "wanted")
	for _, tree := range []string{project, wanted} {
		if err := b.do("cp", "-a", pristine, tree); err != nil {
			return err
		}
	}
	script := filepath.Join(b.work, "agent.sh")
	if err := os.WriteFile(script, []byte(agent), 0o755); err != nil {
		return err
	}
	numbers := []string{fmt.Sprint(changed), fmt.Sprint(added), fmt.Sprint(deleted)}
	work := func(sandbox []string, dir string) error {
		argv := append(append(sandbox, "sh", script), numbers...)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
		}
		return nil
	}
	if err := work(nil, wanted); err != nil {
		return err
	}
	if err := work(b.command(reviewed), project); err != nil {
		return err
	}

	one := filepath.Join("src", "file00000.txt")
	differ := func(code int) bool { return code == 1 }
	uppers, err := filepath.Glob(filepath.Join(b.storage, reviewed, "upper*"))
	if err != nil {
		return err
	}
	find := &row{name: "`find` over the sandbox's upper layer", argv: append([]string{"find", "-P"}, append(uppers, "-size", "+1000000")...)}
	printf := &row{name: "`find -printf` of the upper layer", argv: append([]string{"find", "-P"}, append(uppers, "-printf", "%p %s %m %T@\n")...)}
	diffrq := &row{name: "`diff -rq` of both trees", argv: []string{"diff", "-rq", pristine, wanted}, exits: differ}
	diffru := &row{name: "`diff -ruN` of both trees", argv: []string{"diff", "-ruN", pristine, wanted}, exits: differ}
	copied := filepath.Join(b.work, "copy")
	cp := &row{
		name: "`cp -a` of the tree", argv: []string{"cp", "-a", wanted, copied},
		after: func([]byte) error { return os.RemoveAll(copied) },
	}
	refresh := func() error { // a project as before, and a sandbox that changed it
		if err := b.remove(reviewed); err != nil {
			return err
		}
		if err := os.RemoveAll(project); err != nil {
			return err
		}
		if err := b.do("cp", "-a", pristine, project); err != nil {
			return err
		}
		return work(b.command(reviewed), project)
	}
	block := &row{name: "`sandbox accept --hunk ID`", dir: project}
	block.before = func() error {
		id, err := b.firstBlock(project, one)
		block.argv = b.command(reviewed, "accept", "--hunk", id)
		return err
	}
	undo := func([]byte) error {
		cmd := exec.Command(b.binary, b.command(reviewed, "undo")[1:]...)
		cmd.Dir = project
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("undo: %w\n%s", err, out)
		}
		return nil
	}
	block.after = undo

	rows := []*row{
		find, printf, diffrq, diffru, cp,
		{name: "`sandbox status`", argv: b.command(reviewed, "status"), dir: project},
		{name: "`sandbox status --json`", argv: b.command(reviewed, "--json", "status"), dir: project},
		{name: "`sandbox diff` of everything", argv: b.command(reviewed, "diff"), dir: project},
		{name: "`sandbox diff FILE`", argv: b.command(reviewed, "diff", one), dir: project},
		block,
	}
	fmt.Printf("#### Review\n\n%d text files of 40 lines; in the sandbox %d are edited in two places, %d added, %d deleted. %d runs of each row, in turns.\n\n",
		b.files, changed, added, deleted, b.reviews)
	if err := b.measure(b.reviews, rows); err != nil {
		return err
	}
	// These change a side, so each run has its own sandbox.
	last := []*row{
		{name: "`sandbox accept` of everything", argv: b.command(reviewed, "accept"), dir: project, before: refresh, after: func([]byte) error {
			if out, err := exec.Command("diff", "-r", project, wanted).CombinedOutput(); err != nil {
				return fmt.Errorf("the host is not what the sandbox saw: %w\n%.500s", err, out)
			}
			return nil
		}},
		{name: "`sandbox reject` of everything", argv: b.command(reviewed, "reject"), dir: project, before: refresh, after: func([]byte) error {
			if out, err := exec.Command("diff", "-r", project, pristine).CombinedOutput(); err != nil {
				return fmt.Errorf("the host was touched: %w\n%.500s", err, out)
			}
			return nil
		}},
	}
	untouched := last[1].after
	halted := func() error {
		if err := refresh(); err != nil {
			return err
		}
		return b.do(b.command(reviewed, "stop")...)
	}
	spare := filepath.Join(b.work, "spare")
	rm := &row{name: "`rm -rf` of a copy of the upper layer", argv: []string{"rm", "-rf", spare}, before: func() error {
		if err := halted(); err != nil {
			return err
		}
		if err := os.Mkdir(spare, 0o700); err != nil {
			return err
		}
		if err := b.do(append(append([]string{"cp", "-a"}, uppers...), spare)...); err != nil {
			return err
		}
		return b.do("chmod", "-R", "u+rwX", spare) // as others' directories are in it, that cannot be written
	}}
	last = append(last, rm,
		&row{name: "`sandbox reject` of everything, stopped", argv: b.command(reviewed, "reject"), dir: project, before: halted, after: untouched},
		&row{name: "`sandbox delete`", argv: b.command(reviewed, "delete", "-y"), dir: project, before: halted, after: func([]byte) error {
			return work(b.command(reviewed), project) // the other rows want one
		}},
	)
	if err := b.measure(b.reviews, last); err != nil {
		return err
	}
	table(append(rows, last...), find, diffrq, cp, rm)
	return b.remove(reviewed)
}

// firstBlock returns the id of the first block of a file.
func (b *bench) firstBlock(project, file string) (string, error) {
	cmd := exec.Command(b.binary, b.command(reviewed, "--json", "diff", file)[1:]...)
	cmd.Dir = project
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("diff --json: %w\n%s", err, out)
	}
	var answer struct {
		Files []struct {
			Hunks []struct{ ID string }
		}
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", err
	}
	if len(answer.Files) != 1 || len(answer.Files[0].Hunks) != 2 {
		return "", fmt.Errorf("%s should have two blocks: %.300s", file, out)
	}
	return answer.Files[0].Hunks[0].ID, nil
}

// agent edits a project. It writes through temporaries, as sed -i does.
const agent = `set -eu
changed=$1 added=$2 deleted=$3
ls src | head -n "$changed" | (cd src && xargs sed -i -e '6s/.*/edited by the agent/' -e '31s/.*/edited too/')
ls src | tail -n "$deleted" | (cd src && xargs rm)
mkdir new
i=0
while [ "$i" -lt "$added" ]; do
	echo "added $i" >"new/added$i.txt"
	i=$((i + 1))
done
`

func makeProject(root string, files int) error {
	if err := os.MkdirAll(filepath.Join(root, "src"), 0o755); err != nil {
		return err
	}
	for i := range files {
		var text bytes.Buffer
		for line := range 40 {
			fmt.Fprintf(&text, "%03d some words and a number %d\n", line, i*31+line)
		}
		if err := os.WriteFile(filepath.Join(root, "src", fmt.Sprintf("file%05d.txt", i)), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
