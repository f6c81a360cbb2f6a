package main

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"sandbox/engine"
	"sandbox/engine/changes"
	"sandbox/engine/entry"
	"sandbox/engine/sensitive"
)

const statusHelp = `Lists the changes below the working directory, or those that match the patterns.

  +  added      ~  modified, or its type or attributes changed
  -  deleted    →  renamed
  ⚠  runs by itself later or guards your identity; "held" ones are only
     accepted when they are named exactly, or with --sensitive
  !  this machine's file changed after the sandbox took its copy, and the two
     changes do not go together: accept stops (exit 4)

What changed inside a git repository's own directory is one row with a summary;
a path inside it lists its files.
`

func status(ctx context.Context, a *app) error {
	e, name, dir, err := a.openHere()
	if err != nil {
		return err
	}
	done := a.progress("comparing")
	found, err := e.Changes(ctx, name, engine.Query{Dir: dir, Patterns: a.args, Ignored: a.ignored, Counts: true})
	done()
	if err != nil {
		return err
	}
	if a.json {
		d := document{
			"sandbox": name,
			"other": document{
				"external": found.External, "ignored": found.Ignored, "external_ignored": found.ExternalIgnored,
				"ignored_by": ignoredRows(found),
			},
		}
		if len(found.Unreadable) > 0 {
			d["unreadable"] = found.Unreadable
		}
		if found.Uncounted {
			d["uncounted"] = true
		}
		a.answerRows(d, "changes", len(found.Matching), func(i int) document { return changeRow(&found.Matching[i]) })
		return a.finish()
	}
	if len(found.Matching) == 0 {
		a.printf("No matching changes.\n")
	} else {
		a.printf("Matching changes:\n")
		a.printTable(dir, found.Matching)
	}
	if n := found.External; n > 0 {
		a.printf("\n%s\n", count(n, "external or non-matching change"))
	}
	if text := ignoredLine(found.Ignored, len(found.Matching) > 0, found.WhyIgnored()); text != "" {
		a.printf("\n%s; --ignored shows them\n", text)
	}
	if found.Uncounted {
		a.notef("sandbox: too many changes to count their lines; name some of them to see how many")
	}
	for _, dir := range found.Unreadable {
		a.notef("sandbox: cannot look into %s; changes below it are not listed", safeErr(dir))
	}
	return a.finish()
}

// openHere is open with the working directory that patterns are relative to.
func (a *app) openHere() (*engine.Engine, string, string, error) {
	e, name, err := a.open()
	if err != nil {
		return nil, "", "", err
	}
	dir, err := a.dir()
	return e, name, dir, err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// ignoredLine says how many changes ignore rules left out and why, "" for none.
func ignoredLine(n int, more bool, why string) string {
	what, are := fmt.Sprintf("%d changes", n), "are"
	if more {
		what = fmt.Sprintf("%d more", n)
	}
	switch n {
	case 0:
		return ""
	case 1:
		what, are = strings.TrimSuffix(what, "s"), "is"
	}
	return what + " " + are + " ignored: " + why
}

// ignoredRows tells by which rules changes were left out.
func ignoredRows(found engine.Changes) []document {
	rows := []document{}
	for _, n := range found.IgnoredBy {
		rows = append(rows, document{"by": n.Kind, "changed": n.Changed, "count": n.Count, "sensitive": n.Marked})
	}
	return rows
}

// changeRow is a change in status --json.
func changeRow(c *changes.Change) document {
	row := document{"kind": c.Kind, "added": c.Added, "removed": c.Removed, "conflict": c.Conflict, "base": c.Base}
	putText(row, "path", c.Path)
	if c.Kind == changes.Renamed {
		putText(row, "from", c.From)
	}
	if c.Sensitive != nil {
		row["sensitive"] = c.Sensitive
	}
	if r := c.Ignored; r != nil {
		ignored := document{"by": r.Kind, "rule": r.Text}
		if r.File != "" {
			putText(ignored, "file", r.File)
			ignored["line"] = r.Line
		}
		row["ignored"] = ignored
	}
	if c.Git != nil {
		row["git"] = gitDocument(c)
	}
	return row
}

// widest bounds the name column, so that one long name does not push the
// counts of all others off the screen.
const widest = 60

// printTable prints one line a change, with the counts in columns.
func (a *app) printTable(dir string, list []changes.Change) {
	names := make([]string, len(list))
	added := make([]string, len(list))
	var nameWidth, addedWidth int
	for i := range list {
		c := &list[i]
		names[i] = a.label(dir, c)
		if w := utf8.RuneCountInString(names[i]); w <= widest {
			nameWidth = max(nameWidth, w)
		}
		if c.Added >= 0 && c.Removed >= 0 && c.Added+c.Removed > 0 {
			added[i] = fmt.Sprintf("+%d", c.Added)
			addedWidth = max(addedWidth, len(added[i]))
		}
	}
	for i := range list {
		c := &list[i]
		line := pad(names[i], nameWidth) + "  "
		if added[i] != "" {
			line += fmt.Sprintf("%-*s -%d", addedWidth, added[i], c.Removed)
		}
		if notes := a.notes(c); notes != "" {
			line += "  " + notes
		}
		a.printf("   %s %s\n", mark(c.Kind), strings.TrimRight(line, " "))
	}
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// mark is the sign of a kind of change.
func mark(k changes.Kind) string {
	switch k {
	case changes.Added:
		return "+"
	case changes.Deleted:
		return "-"
	case changes.Renamed:
		return "→"
	default:
		return "~"
	}
}

// label is the name of a change, with a slash behind a directory.
func (a *app) label(dir string, c *changes.Change) string {
	show := func(path string, t entry.Type) string {
		s := a.safe(shown(dir, path))
		if t == entry.Dir {
			s += "/"
		}
		return s
	}
	switch c.Kind {
	case changes.Renamed:
		return show(c.From, c.Host.Type) + " → " + show(c.Path, c.Sandbox.Type)
	case changes.Deleted:
		return show(c.Path, c.Host.Type)
	default:
		return show(c.Path, c.Sandbox.Type)
	}
}

// notes says what the mark and the counts do not.
func (a *app) notes(c *changes.Change) string {
	var out []string
	switch c.Kind {
	case changes.TypeChanged:
		out = append(out, fmt.Sprintf("type: %s → %s", typeName(c.Host.Type), typeName(c.Sandbox.Type)))
	case changes.Added:
		if t := c.Sandbox.Type; t != entry.File && t != entry.Dir {
			out = append(out, typeName(t))
		}
	case changes.Attributes, changes.Modified, changes.Renamed:
		out = append(out, a.attributes(c)...)
	}
	if c.Git != nil {
		out = append([]string{c.Git.Summary}, out...)
	}
	if c.Git != nil && c.Git.Trouble != "" {
		return strings.Join(append(out, "! "+c.Git.Trouble), "  ")
	}
	switch {
	case c.Conflict:
		out = append(out, "! changed on this machine too")
	case c.Base == changes.BaseKnown:
		out = append(out, "merges with a change of this machine")
	}
	if m := c.Sensitive; m != nil {
		note := "⚠ " + m.Reason
		if m.Level == sensitive.LevelHold {
			note = "⚠ held: " + m.Reason
		}
		out = append(out, note)
	}
	if c.Ignored != nil {
		out = append(out, "ignored by "+a.safe(c.Ignored.String()))
	}
	return strings.Join(out, "  ")
}

func (a *app) attributes(c *changes.Change) []string {
	var out []string
	if c.Host.Type == entry.Symlink && c.Host.Target != c.Sandbox.Target {
		out = append(out, fmt.Sprintf("link: %s → %s", a.safe(c.Host.Target), a.safe(c.Sandbox.Target)))
	}
	if c.Host.Mode != c.Sandbox.Mode && c.Host.Type == c.Sandbox.Type && c.Sandbox.Type != entry.Symlink {
		out = append(out, fmt.Sprintf("mode: %04o → %04o", c.Host.Mode, c.Sandbox.Mode))
	}
	if c.Host.UID != c.Sandbox.UID || c.Host.GID != c.Sandbox.GID {
		out = append(out, fmt.Sprintf("owner: %d:%d → %d:%d", c.Host.UID, c.Host.GID, c.Sandbox.UID, c.Sandbox.GID))
	}
	if c.Kind == changes.Attributes && len(out) == 0 {
		out = append(out, "extended attributes")
	}
	return out
}

func typeName(t entry.Type) string {
	switch t {
	case entry.Dir:
		return "directory"
	case entry.Char:
		return "character device"
	case entry.Block:
		return "block device"
	default:
		return string(t)
	}
}
