package ignore

import "strings"

// A glob is one pattern made ready. What it matches is what git's wildmatch
// matches with the flag for paths, but it never goes back: an agent writes
// patterns too, and one such as *a*a*a*a*b takes a matcher that tries and
// retries longer than anybody waits.
//
// The tokens are the states of an automaton that reads the text once. A set of
// states is a bit mask, so the work is at most the product of both lengths.
type glob struct {
	tokens []token
	broken bool // a bracket is not closed, or \ stands at the end: git matches nothing
}

type tokenKind uint8

const (
	literal  tokenKind = iota // this byte
	anyByte                   // ?: one byte that is no slash
	class                     // [a-z]: one byte of a set, no slash
	star                      // *: any bytes but slashes
	stars                     // ** between slashes: any bytes
	starsDir                  // stands before the "stars" of **/ and may skip it and the slash
)

type token struct {
	kind tokenKind
	char byte
	set  *[4]uint64
}

// compileGlob reads a pattern.
func compileGlob(p string) glob {
	var g glob
	for i := 0; i < len(p); {
		switch p[i] {
		case '\\':
			if i+1 == len(p) {
				return glob{broken: true}
			}
			g.tokens = append(g.tokens, token{kind: literal, char: p[i+1]})
			i += 2
		case '?':
			g.tokens = append(g.tokens, token{kind: anyByte})
			i++
		case '[':
			set, end := bracket(p, i)
			if set == nil {
				return glob{broken: true}
			}
			g.tokens = append(g.tokens, token{kind: class, set: set})
			i = end
		case '*':
			end := i
			for end < len(p) && p[end] == '*' {
				end++
			}
			alone := (i == 0 || p[i-1] == '/') && (end == len(p) || p[end] == '/' || strings.HasPrefix(p[end:], `\/`))
			switch {
			case end-i < 2 || !alone:
				g.tokens = append(g.tokens, token{kind: star})
			case end < len(p) && p[end] == '/':
				g.tokens = append(g.tokens, token{kind: starsDir}, token{kind: stars})
			default:
				g.tokens = append(g.tokens, token{kind: stars})
			}
			i = end
		default:
			g.tokens = append(g.tokens, token{kind: literal, char: p[i]})
			i++
		}
	}
	return g
}

// match reports whether the glob matches all of text. work counts the steps.
func (g *glob) match(text string, work *int) bool {
	if g.broken {
		return false
	}
	n := len(g.tokens)
	words := n/64 + 1 // one state more than tokens: the end
	var small [2 * 4]uint64
	buf := small[:]
	if words > 4 {
		buf = make([]uint64, 2*words)
	}
	now, next := buf[:words], buf[words:2*words]
	g.enter(now, 0)
	for i := range len(text) {
		clear(next)
		alive := false
		for w, states := range now {
			for b := 0; states != 0; b++ {
				if states&1 != 0 {
					*work++
					if s := w*64 + b; s < n && g.step(next, s, text[i]) {
						alive = true
					}
				}
				states >>= 1
			}
		}
		if !alive {
			return false
		}
		now, next = next, now
	}
	return now[n/64]&(1<<(n%64)) != 0
}

// step puts into next where state s comes with c, and reports whether it
// comes anywhere.
func (g *glob) step(next []uint64, s int, c byte) bool {
	t := &g.tokens[s]
	switch t.kind {
	case literal:
		if c != t.char {
			return false
		}
		g.enter(next, s+1)
	case anyByte:
		if c == '/' {
			return false
		}
		g.enter(next, s+1)
	case class:
		if c == '/' || t.set[c/64]&(1<<(c%64)) == 0 {
			return false
		}
		g.enter(next, s+1)
	case star:
		if c == '/' {
			return false
		}
		g.enter(next, s)
	case stars:
		g.enter(next, s)
	case starsDir:
		return false // only a way in
	}
	return true
}

// enter adds a state and those that are reached from it with nothing read.
func (g *glob) enter(set []uint64, s int) {
	for {
		if set[s/64]&(1<<(s%64)) != 0 {
			return
		}
		set[s/64] |= 1 << (s % 64)
		if s == len(g.tokens) {
			return
		}
		switch g.tokens[s].kind {
		case star, stars:
		case starsDir:
			g.enter(set, s+3) // no directory at all: behind "**/"
		default:
			return
		}
		s++
	}
}

// bracket reads the set that starts at p[i] and gives where it ends. It is nil
// when git would give up on the pattern.
func bracket(p string, i int) (*[4]uint64, int) {
	set, at := new([4]uint64), func(j int) byte {
		if j < len(p) {
			return p[j]
		}
		return 0
	}
	put := func(lo, hi byte) {
		for c := int(lo); c <= int(hi); c++ {
			set[c/64] |= 1 << (c % 64)
		}
	}
	i++
	negated := at(i) == '!' || at(i) == '^'
	if negated {
		i++
	}
	before := byte(0)
	for first := true; first || at(i) != ']'; first, i = false, i+1 {
		c := at(i)
		switch {
		case c == 0:
			return nil, 0
		case c == '\\':
			i++
			if c = at(i); c == 0 {
				return nil, 0
			}
			put(c, c)
		case c == '-' && before != 0 && at(i+1) != 0 && at(i+1) != ']':
			i++
			if c = at(i); c == '\\' {
				i++
				if c = at(i); c == 0 {
					return nil, 0
				}
			}
			put(before, c)
			c = 0
		case c == '[' && at(i+1) == ':':
			end := i + 2
			for at(end) != 0 && at(end) != ']' {
				end++
			}
			if at(end) == 0 {
				return nil, 0
			}
			if end-(i+2) < 1 || p[end-1] != ':' {
				put('[', '[')
				break
			}
			in, ok := classes[p[i+2:end-1]]
			if !ok {
				return nil, 0
			}
			for c := range 256 {
				if in(byte(c)) {
					put(byte(c), byte(c))
				}
			}
			i, c = end, 0
		default:
			put(c, c)
		}
		before = c
	}
	if negated {
		for w := range set {
			set[w] = ^set[w]
		}
	}
	return set, i + 1
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool { return isUpper(c) || isLower(c) || isDigit(c) }
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isPrint(c byte) bool { return c >= 0x20 && c <= 0x7e }

// classes are those of git, which are of ASCII.
var classes = map[string]func(byte) bool{
	"alnum": isAlnum,
	"alpha": func(c byte) bool { return isUpper(c) || isLower(c) },
	"blank": func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl": func(c byte) bool { return c < 0x20 || c == 0x7f },
	"digit": isDigit,
	"graph": func(c byte) bool { return isPrint(c) && !isSpace(c) },
	"lower": isLower,
	"print": isPrint,
	"punct": func(c byte) bool { return isPrint(c) && c != ' ' && !isAlnum(c) },
	"space": isSpace,
	"upper": isUpper,
	"xdigit": func(c byte) bool {
		return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
	},
}
