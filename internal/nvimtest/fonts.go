package nvimtest

import (
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/gofont/gomonoitalic"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
)

// FontSet is what a picture is drawn with. For each look, the first font that
// has a character draws it.
type FontSet struct {
	regular, bold, italic []*opentype.Font
}

// Where Debian puts fonts that have the arrows and signs Go's own lacks.
var fontFiles = map[string][]string{
	"regular": {
		"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",
		"/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
		"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
	},
	"bold": {
		"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Bold.ttf",
		"/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf",
	},
	"italic": {
		"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Italic.ttf",
		"/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Oblique.ttf",
	},
}

// Fonts returns the monospaced fonts of this machine, and after them Go's own.
func Fonts() *FontSet {
	return &FontSet{
		regular: load(fontFiles["regular"], gomono.TTF),
		bold:    load(fontFiles["bold"], gomonobold.TTF),
		italic:  load(fontFiles["italic"], gomonoitalic.TTF),
	}
}

func load(paths []string, builtin []byte) []*opentype.Font {
	var fonts []*opentype.Font
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if parsed, err := opentype.Parse(data); err == nil {
			fonts = append(fonts, parsed)
		}
	}
	parsed, err := opentype.Parse(builtin)
	if err != nil {
		panic("the font that is built in cannot be read: " + err.Error())
	}
	return append(fonts, parsed)
}

// faces are the fonts of a set at one size.
type faces struct {
	regular, bold, italic []sized
}

type sized struct {
	font *opentype.Font
	font.Face
}

func (set *FontSet) faces(size float64) *faces {
	at := func(fonts []*opentype.Font) []sized {
		var out []sized
		for _, f := range fonts {
			face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
			if err == nil {
				out = append(out, sized{f, face})
			}
		}
		return out
	}
	return &faces{regular: at(set.regular), bold: at(set.bold), italic: at(set.italic)}
}

// face returns what draws a cell: the first font of its look that has its
// character, else a regular one that has.
func (f *faces) face(cell Cell) font.Face {
	character := []rune(cell.Text)[0]
	look := f.regular
	switch {
	case cell.style.bold:
		look = f.bold
	case cell.style.italic:
		look = f.italic
	}
	var buffer sfnt.Buffer
	for _, fonts := range [][]sized{look, f.regular} {
		for _, face := range fonts {
			if glyph, err := face.font.GlyphIndex(&buffer, character); err == nil && glyph != 0 {
				return face
			}
		}
	}
	return look[0]
}
