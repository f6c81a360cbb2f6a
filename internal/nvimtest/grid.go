package nvimtest

import (
	"sync"
)

// grid follows the editor's redraw events (:help ui-linegrid) and keeps the
// screen of the last flush.
type grid struct {
	mu sync.Mutex // protects everything below

	// What the events have built up so far.
	cells    [][]gridCell
	row, col int
	fg, bg   int
	styles   map[int]style
	groups   map[int][]string
	flushed  *Screen       // as of the last flush, nil before the first
	changed  chan struct{} // closed at the next flush
}

type gridCell struct {
	text string
	hl   int
}

func newGrid() *grid {
	return &grid{
		styles:  map[int]style{0: {fg: -1, bg: -1, sp: -1}},
		groups:  map[int][]string{},
		changed: make(chan struct{}),
	}
}

// look returns the screen of the last flush and a channel that the next closes.
func (g *grid) look() (*Screen, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flushed == nil {
		return &Screen{}, g.changed
	}
	return g.flushed, g.changed
}

// redraw takes one notification: a list of [name, args, args, …].
func (g *grid) redraw(updates ...[]any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, update := range updates {
		name, _ := update[0].(string)
		for _, tuple := range update[1:] {
			args, _ := tuple.([]any)
			g.event(name, args)
		}
	}
}

func (g *grid) event(name string, args []any) {
	switch name {
	case "grid_resize":
		g.resize(number(args[1]), number(args[2]))
	case "grid_clear":
		g.resize(g.width(), len(g.cells))
	case "grid_line":
		g.line(number(args[1]), number(args[2]), args[3])
	case "grid_scroll":
		g.scroll(number(args[1]), number(args[2]), number(args[3]), number(args[4]), number(args[5]))
	case "grid_cursor_goto":
		g.row, g.col = number(args[1]), number(args[2])
	case "default_colors_set":
		g.fg, g.bg = number(args[0]), number(args[1])
	case "hl_attr_define":
		g.define(number(args[0]), args[1], args[3])
	case "flush":
		g.flush()
	}
}

func (g *grid) width() int {
	if len(g.cells) == 0 {
		return 0
	}
	return len(g.cells[0])
}

// resize makes the grid empty; the editor draws all of it again.
func (g *grid) resize(width, height int) {
	g.cells = make([][]gridCell, height)
	for row := range g.cells {
		g.cells[row] = make([]gridCell, width)
		for col := range g.cells[row] {
			g.cells[row][col].text = " "
		}
	}
}

// line writes cells: each is [text], [text, hl] or [text, hl, repeat], and a
// missing hl is that of the cell before.
func (g *grid) line(row, col int, cells any) {
	list, _ := cells.([]any)
	hl := 0
	for _, item := range list {
		cell, _ := item.([]any)
		text, _ := cell[0].(string)
		repeat := 1
		if len(cell) > 1 {
			hl = number(cell[1])
		}
		if len(cell) > 2 {
			repeat = number(cell[2])
		}
		for range repeat {
			g.cells[row][col] = gridCell{text, hl}
			col++
		}
	}
}

// scroll moves a region up by rows, or down when rows is negative. What scrolls
// in is drawn by events that follow.
func (g *grid) scroll(top, bottom, left, right, rows int) {
	if rows > 0 {
		for row := top; row < bottom-rows; row++ {
			copy(g.cells[row][left:right], g.cells[row+rows][left:right])
		}
		return
	}
	for row := bottom - 1; row >= top-rows; row-- {
		copy(g.cells[row][left:right], g.cells[row+rows][left:right])
	}
}

// define notes how a highlight looks and which groups it is made of.
func (g *grid) define(id int, attributes, info any) {
	look := style{fg: -1, bg: -1, sp: -1}
	values, _ := attributes.(map[string]any)
	for key, value := range values {
		switch key {
		case "foreground":
			look.fg = number(value)
		case "background":
			look.bg = number(value)
		case "special":
			look.sp = number(value)
		case "bold":
			look.bold = true
		case "italic":
			look.italic = true
		case "underline", "underdouble", "underdotted", "underdashed":
			look.underline = true
		case "undercurl":
			look.undercurl = true
		case "strikethrough":
			look.strike = true
		case "reverse", "standout":
			look.reverse = true
		}
	}
	g.styles[id] = look

	var groups []string
	items, _ := info.([]any)
	for _, item := range items {
		entry, _ := item.(map[string]any)
		// hi_name is the group as code names it, ui_name what it was linked from;
		// a test may know it by either.
		for _, key := range []string{"hi_name", "ui_name"} {
			if name, _ := entry[key].(string); name != "" && (len(groups) == 0 || groups[len(groups)-1] != name) {
				groups = append(groups, name)
			}
		}
	}
	g.groups[id] = groups
}

// flush keeps a copy of the grid and wakes who waits.
func (g *grid) flush() {
	screen := &Screen{
		Width: g.width(), Height: len(g.cells),
		Row: g.row, Col: g.col, fg: g.fg, bg: g.bg,
		cells: make([][]Cell, len(g.cells)),
	}
	for row, cells := range g.cells {
		screen.cells[row] = make([]Cell, len(cells))
		for col, cell := range cells {
			screen.cells[row][col] = Cell{Text: cell.text, Groups: g.groups[cell.hl], style: g.styles[cell.hl]}
		}
	}
	g.flushed = screen
	close(g.changed)
	g.changed = make(chan struct{})
}

// number reads an integer as msgpack decodes it.
func number(value any) int {
	switch n := value.(type) {
	case int64:
		return int(n)
	case uint64:
		return int(n)
	}
	return 0
}
