package nvim

import (
	"testing"

	"sandbox/internal/nvimtest"
)

// The parts of the Lua that are functions from values to values.
func TestPureLua(t *testing.T) {
	tests := map[string]struct{ lua, want string }{
		"words":            {`return require("sandbox.arguments").split([[a  'b c' "d \" e" f\ g "" 'h'i]])`, `{ "a", "b c", 'd " e', "f g", "", "hi" }`},
		"no words":         {`return require("sandbox.arguments").split("  ")`, `{}`},
		"a backslash last": {`return require("sandbox.arguments").split([[a\]])`, `{ "a\\" }`},
		"options": {
			`local a = require("sandbox.arguments").parse({ "--net", "--name", "x", "--", "--name", "y" }) return { a.net, a.name, a.command }`,
			`{ "host", "x", { "--name", "y" } }`,
		},
		"options end at the command": {
			`local a = require("sandbox.arguments").parse({ "--net=none", "ls", "--name=y" }) return { a.net, a.name or "none", a.command }`,
			`{ "none", "none", { "ls", "--name=y" } }`,
		},
		"blocks as diff commands": {
			`return require("sandbox.review.differ").format({ { 1, 1, 1, 2 }, { 5, 0, 7, 1 }, { 8, 3, 9, 0 } })`,
			`"1c1,2\n5a7\n8,10d9\n"`,
		},
		"blocks and what only the host changed, in order": {
			`local h = function(a, b, c, d) return { host = { a, b }, sandbox = { c, d } } end
			return require("sandbox.review.differ").list({ h(0, 0, 0, 0), h(3, 1, 5, 1), h(9, 0, 11, 2) }, { { 0, 0, 1, 2 }, { 2, 0, 4, 1 }, { 8, 1, 10, 0 } }, false)`,
			`{ { 0, 0, 1, 2 }, { 2, 0, 4, 1 }, { 3, 1, 5, 1 }, { 8, 1, 10, 0 }, { 9, 0, 11, 2 } }`,
		},
		"the same from the other side": {
			`return require("sandbox.review.differ").list({ { host = { 3, 1 }, sandbox = { 5, 2 } } }, { { 7, 1, 10, 0 } }, true)`,
			`{ { 5, 2, 3, 1 }, { 10, 0, 7, 1 } }`,
		},
		"a clean name": {`return require("sandbox.message").clean("a\27[31m\nb\226\128\174c\226\129\166")`, `"a^[[31m b<202e>c<2066>"`},
		"a cut name":   {`return require("sandbox.message").fit("äbcdef", 4)`, `"äbc…"`},
	}
	hunks := `
local H = {
	{ id = "m", kind = "mode", host = { 0, 0 }, sandbox = { 0, 0 }, old = "", new = "" },
	{ id = "a", kind = "lines", host = { 0, 0 }, sandbox = { 1, 2 } },
	{ id = "b", kind = "lines", host = { 3, 2 }, sandbox = { 5, 1 } },
	{ id = "c", kind = "lines", host = { 7, 1 }, sandbox = { 7, 0 } },
	{ id = "e", kind = "final_newline", host = { 9, 0 }, sandbox = { 10, 0 }, old = "", new = "" },
}
local B = require("sandbox.review.blocks")
local function at(side, line, selected) return B.at(H, side, line, side == "host" and 9 or 10, selected) or 0 end
local function step(side, line, current, by) return B.step(H, side, line, side == "host" and 9 or 10, current, by) or 0 end
local function touched(side, a, b) return B.touched(H, side, a, b, side == "host" and 9 or 10) end
`
	for name, test := range map[string]struct{ lua, want string }{
		"the filler above the first line":        {`return at("host", 1)`, "2"},
		"the attribute that was selected":        {`return at("host", 1, 1)`, "1"},
		"a selection that the cursor left":       {`return at("host", 4, 1)`, "3"},
		"between blocks":                         {`return at("host", 5)`, "0"},
		"lines that are gone, from above":        {`return at("sandbox", 7)`, "4"},
		"lines that are gone, from below":        {`return at("sandbox", 8)`, "4"},
		"the end of the file":                    {`return at("sandbox", 10)`, "5"},
		"the next block, from none":              {`return step("host", 5, nil, 1)`, "4"},
		"the block before, from none":            {`return step("host", 5, nil, -1)`, "3"},
		"the next block, from one":               {`return step("host", 1, 1, 1)`, "2"},
		"past the last":                          {`return step("host", 9, 5, 1)`, "0"},
		"a range over all lines":                 {`return touched("sandbox", 1, 10)`, "{ 2, 3, 4 }"},
		"a range within a block":                 {`return touched("host", 4, 4)`, "{ 3 }"},
		"a range that ends above lines gone":     {`return touched("sandbox", 6, 7)`, "{ 4 }"},
		"a range that touches an attribute only": {`return touched("sandbox", 10, 10)`, "{ 5 }"},
		"a range that touches nothing":           {`return touched("host", 5, 6)`, "{}"},
	} {
		tests[name] = struct{ lua, want string }{hunks + test.lua, test.want}
	}
	nvimtest.Each(t, func(t *testing.T, version string) {
		e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Plugin())
		for name, test := range tests {
			got := nvimtest.Lua[string](e, "return vim.inspect((function() "+test.lua+" end)(), { newline = ' ', indent = '' })")
			if got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
		}
	})
}
