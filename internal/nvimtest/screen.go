package nvimtest

import (
	"slices"
	"strings"
)

// Cell is one position of the screen.
type Cell struct {
	// Text is what is drawn here: one character with what combines with it. The
	// second half of a character that is two cells wide is "".
	Text string
	// Groups are the highlight groups that apply, outermost first. Groups that
	// only an ID stands for are left out.
	Groups []string
	style  style
}

// style is how a cell looks; colours are 0xRRGGBB, -1 is the default.
type style struct {
	fg, bg, sp                                 int
	bold, italic, underline, undercurl, strike bool
	reverse                                    bool
}

// Screen is the editor's screen as it stood at one flush.
type Screen struct {
	Width, Height int
	// Row and Col are where the cursor is, from 0.
	Row, Col int

	cells  [][]Cell
	fg, bg int
}

// Cell returns the cell of a row and a column, from 0.
func (s *Screen) Cell(row, col int) Cell { return s.cells[row][col] }

// Line returns the text of a row, from 0, without trailing blanks.
func (s *Screen) Line(row int) string {
	var b strings.Builder
	for _, cell := range s.cells[row] {
		b.WriteString(cell.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

// Lines returns the text of every row.
func (s *Screen) Lines() []string {
	lines := make([]string, s.Height)
	for row := range lines {
		lines[row] = s.Line(row)
	}
	return lines
}

// Text returns the whole screen, a line a row.
func (s *Screen) Text() string { return strings.Join(s.Lines(), "\n") + "\n" }

// Contains reports whether text stands somewhere in one row.
func (s *Screen) Contains(text string) bool {
	_, _, found := s.Find(text)
	return found
}

// Find returns where text first stands in one row.
func (s *Screen) Find(text string) (row, col int, found bool) {
	for row := range s.cells {
		line := s.Line(row)
		at := strings.Index(line, text)
		if at < 0 {
			continue
		}
		for col, cell := range s.cells[row] { // bytes to cells
			if at <= 0 {
				return row, col, true
			}
			at -= len(cell.Text)
		}
	}
	return 0, 0, false
}

// Has reports whether a highlight group applies to the cell.
func (c Cell) Has(group string) bool { return slices.Contains(c.Groups, group) }

// HasGroup reports whether text stands in one row with a highlight group on the
// whole of it.
func (s *Screen) HasGroup(text, group string) bool {
	for row := range s.cells {
		for col := range s.cells[row] {
			if s.stands(row, col, text, group) {
				return true
			}
		}
	}
	return false
}

// stands reports whether text begins at a cell and is highlighted to its end.
func (s *Screen) stands(row, col int, text, group string) bool {
	for text != "" {
		if col >= s.Width {
			return false
		}
		cell := s.cells[row][col]
		if cell.Text != "" {
			rest, ok := strings.CutPrefix(text, cell.Text)
			if !ok || !cell.Has(group) {
				return false
			}
			text = rest
		}
		col++
	}
	return true
}

// Groups draws where highlight groups apply: the letter of the first group of a
// cell that has one, "." elsewhere, trailing dots cut.
func (s *Screen) Groups(letters map[string]byte) string {
	var b strings.Builder
	for _, cells := range s.cells {
		line := make([]byte, len(cells))
		for col, cell := range cells {
			line[col] = '.'
			for _, group := range cell.Groups {
				if letter, ok := letters[group]; ok {
					line[col] = letter
					break
				}
			}
		}
		b.WriteString(strings.TrimRight(string(line), "."))
		b.WriteByte('\n')
	}
	return b.String()
}
