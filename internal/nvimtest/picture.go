package nvimtest

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
)

// WritePNG writes a picture of the screen, at a font size in pixels.
func (s *Screen) WritePNG(path string, fonts *FontSet, size float64) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closing := file.Close(); err == nil {
			err = closing
		}
	}()
	return png.Encode(file, s.Picture(fonts, size))
}

// Picture draws the screen with the colours that the editor gave it, at a font
// size in pixels.
func (s *Screen) Picture(fonts *FontSet, size float64) image.Image {
	p := newPen(fonts, size)
	margin := p.width
	p.image = image.NewRGBA(image.Rect(0, 0, s.Width*p.width+2*margin, s.Height*p.height+2*margin))
	p.fill(p.image.Bounds(), rgb(s.bg))
	for row, cells := range s.cells {
		for col, cell := range cells {
			if cell.Text == "" {
				continue // drawn with the cell before it
			}
			columns := 1
			if col+1 < len(cells) && cells[col+1].Text == "" {
				columns = 2
			}
			at := image.Rect(margin+col*p.width, margin+row*p.height,
				margin+(col+columns)*p.width, margin+(row+1)*p.height)
			p.cell(at, cell, s, row == s.Row && col == s.Col)
		}
	}
	return p.image
}

// pen draws cells of one size.
type pen struct {
	image         *image.RGBA
	fonts         *faces
	width, height int
	ascent        int
}

func newPen(fonts *FontSet, size float64) *pen {
	f := fonts.faces(size)
	advance, _ := f.regular[0].GlyphAdvance('M')
	metrics := f.regular[0].Metrics()
	return &pen{
		fonts: f, width: advance.Round(),
		height: (metrics.Ascent + metrics.Descent).Ceil() + 2,
		ascent: metrics.Ascent.Ceil() + 1,
	}
}

func (p *pen) fill(r image.Rectangle, c color.RGBA) {
	draw.Draw(p.image, r, image.NewUniform(c), image.Point{}, draw.Src)
}

func (p *pen) cell(at image.Rectangle, cell Cell, s *Screen, cursor bool) {
	fg, bg := s.fg, s.bg
	if cell.style.fg >= 0 {
		fg = cell.style.fg
	}
	if cell.style.bg >= 0 {
		bg = cell.style.bg
	}
	if cell.style.reverse != cursor { // a cursor on a reversed cell shows it plain
		fg, bg = bg, fg
	}
	ink := rgb(fg)
	p.fill(at, rgb(bg))
	if !p.line(at, []rune(cell.Text)[0], ink) {
		drawer := font.Drawer{
			Dst: p.image, Src: image.NewUniform(ink), Face: p.fonts.face(cell),
			Dot: fixed.P(at.Min.X, at.Min.Y+p.ascent),
		}
		drawer.DrawString(cell.Text)
	}
	thick := p.thickness()
	if cell.style.underline || cell.style.undercurl {
		under := ink
		if cell.style.sp >= 0 {
			under = rgb(cell.style.sp)
		}
		p.fill(image.Rect(at.Min.X, at.Max.Y-2*thick, at.Max.X, at.Max.Y-thick), under)
	}
	if cell.style.strike {
		middle := (at.Min.Y + at.Max.Y) / 2
		p.fill(image.Rect(at.Min.X, middle, at.Max.X, middle+thick), ink)
	}
}

func (p *pen) thickness() int { return max(1, p.width/9) }

// arms says which of left, right, up, down a box-drawing line has.
var arms = map[rune][4]bool{
	'─': {true, true, false, false}, '━': {true, true, false, false},
	'│': {false, false, true, true}, '┃': {false, false, true, true},
	'┌': {false, true, false, true}, '╭': {false, true, false, true},
	'┐': {true, false, false, true}, '╮': {true, false, false, true},
	'└': {false, true, true, false}, '╰': {false, true, true, false},
	'┘': {true, false, true, false}, '╯': {true, false, true, false},
	'├': {false, true, true, true}, '┤': {true, false, true, true},
	'┬': {true, true, false, true}, '┴': {true, true, true, false},
	'┼': {true, true, true, true},
}

// line draws a box-drawing character edge to edge, so that it joins the next
// one; a font's own leaves gaps. It reports whether it was one.
func (p *pen) line(at image.Rectangle, r rune, ink color.RGBA) bool {
	arm, ok := arms[r]
	if !ok {
		return false
	}
	thick := p.thickness()
	x, y := (at.Min.X+at.Max.X-thick)/2, (at.Min.Y+at.Max.Y-thick)/2
	for i, r := range [4]image.Rectangle{
		image.Rect(at.Min.X, y, x+thick, y+thick),
		image.Rect(x, y, at.Max.X, y+thick),
		image.Rect(x, at.Min.Y, x+thick, y+thick),
		image.Rect(x, y, x+thick, at.Max.Y),
	} {
		if arm[i] {
			p.fill(r, ink)
		}
	}
	return true
}

func rgb(n int) color.RGBA {
	return color.RGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), 0xff}
}
