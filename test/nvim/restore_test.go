package nvim

import (
	"strings"
	"testing"

	"sandbox/internal/nvimtest"
)

// dump describes all that a review could leave changed: options, maps, buffers,
// windows, tabs, autocommands and highlight of the editor.
const dump = `
local out = {}
local function add(...) table.insert(out, table.concat(vim.tbl_map(function(v)
	return type(v) == "string" and v or vim.inspect(v, { newline = "", indent = "" }) end, { ... }), " ")) end
-- The global value of 'syntax' is what the last :edit left there, and means nothing.
local skip = { columns = true, lines = true, window = true, scroll = true, syntax = true }
for name, info in vim.spairs(vim.api.nvim_get_all_options_info()) do
	if not skip[name] and pcall(vim.api.nvim_get_option_value, name, {}) then
		add("global", name, vim.api.nvim_get_option_value(name, { scope = "global" }))
		if info.scope == "win" then
			for _, win in ipairs(vim.api.nvim_list_wins()) do
				add("win", win, name, vim.api.nvim_get_option_value(name, { win = win, scope = "local" }))
			end
		elseif info.scope == "buf" then
			for _, buf in ipairs(vim.api.nvim_list_bufs()) do
				if vim.api.nvim_buf_is_loaded(buf) then
					add("buf", buf, name, vim.api.nvim_get_option_value(name, { buf = buf }))
				end
			end
		end
	end
end
for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
	for _, win in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
		add("window", tab, win, vim.api.nvim_win_get_buf(win), vim.api.nvim_win_get_cursor(win), vim.api.nvim_win_get_width(win))
	end
end
add("current", vim.api.nvim_get_current_tabpage(), vim.api.nvim_get_current_win())
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
	add("buffer", buf, vim.api.nvim_buf_get_name(buf), vim.bo[buf].buflisted, vim.api.nvim_buf_is_loaded(buf), vim.bo[buf].modified,
		vim.api.nvim_buf_get_changedtick(buf))
	for _, mode in ipairs({ "n", "x", "s", "o", "i" }) do
		local maps = vim.api.nvim_buf_get_keymap(buf, mode)
		table.sort(maps, function(a, b) return a.lhs < b.lhs end)
		for _, map in ipairs(maps) do
			add("map", buf, mode, map.lhs, map.rhs or "", map.desc or "", map.expr, map.nowait, map.silent, map.noremap)
		end
	end
	for name, ns in vim.spairs(vim.api.nvim_get_namespaces()) do
		if tostring(name):match("^sandbox") then
			local marks = vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, {})
			if #marks > 0 then add("marks", buf, name, #marks) end
		end
	end
end
for _, autocmd in ipairs(vim.api.nvim_get_autocmds({})) do
	if (autocmd.group_name or ""):match("^sandbox%.") then add("autocmd", autocmd.group_name, autocmd.event) end
end
return table.concat(out, "\n")`

func TestAllThatIsBorrowedIsGivenBack(t *testing.T) {
	ways := map[string]func(b *bench){
		"q in the panel": func(b *bench) { b.Input("<C-w>tq") },
		"tabclose":       func(b *bench) { b.Input(":tabclose<CR>") },
		"one window":     func(b *bench) { b.Input(":quit<CR>") },
		"from the host":  func(b *bench) { b.Input("<C-w>t<C-w>l:close<CR>") },
	}
	nvimtest.Each(t, func(t *testing.T, version string) {
		for name, leave := range ways {
			t.Run(name, func(t *testing.T) {
				b := fakeReview(t, version, map[string][2]string{
					"a.txt": {before, after}, "b.lua": {"x = 1\n", "x = 2\n"}, "c.txt": {"", "x\n"},
				}, nvimtest.Init(`
					vim.o.number, vim.o.wrap, vim.o.foldenable, vim.o.winbar = true, true, true, "mine"
					vim.o.scrollopt, vim.o.autoread, vim.o.diffopt = "ver", false, "internal,filler,vertical"
				`))
				// The user has one of the files open, with maps of his own.
				b.Command("edit a.txt")
				b.Exec(`
					vim.keymap.set("n", "]c", function() vim.g.mine = 1 end, { buffer = 0, desc = "mine" })
					vim.keymap.set("n", "<LocalLeader>a", ":let g:mine = 2<CR>", { buffer = 0, silent = true })
					vim.api.nvim_win_set_cursor(0, { 3, 1 })`)
				b.Command("vsplit")
				earlier := nvimtest.Lua[string](b.Editor, dump)

				b.open()
				b.press("]f", "b.lua")
				b.WaitFor("the other file", nvimtest.Contains("block 1/1"))
				b.press("]f", "c.txt")
				b.press("[f", "b.lua")
				b.press("[f", "block 1/3")
				b.Command("tabprevious")
				b.Command("tabnext")
				leave(b)
				b.WaitLua("the review is closed", `return #vim.api.nvim_list_tabpages() == 1 and require("sandbox.review.session").by_name("demo") == nil`)
				later := nvimtest.Lua[string](b.Editor, dump)
				if earlier != later {
					t.Fatalf("the review left something changed:\n%s", difference(earlier, later))
				}
				b.Input("]c")
				b.WaitLua("the user's map", "return vim.g.mine == 1")
				b.Input(`\a`)
				b.WaitLua("the user's other map", "return vim.g.mine == 2")
			})
		}
	})
}

func difference(earlier, later string) string {
	var out strings.Builder
	was, is := map[string]bool{}, map[string]bool{}
	for line := range strings.SplitSeq(earlier, "\n") {
		was[line] = true
	}
	for line := range strings.SplitSeq(later, "\n") {
		is[line] = true
		if !was[line] {
			out.WriteString("+ " + line + "\n")
		}
	}
	for line := range strings.SplitSeq(earlier, "\n") {
		if !is[line] {
			out.WriteString("- " + line + "\n")
		}
	}
	return out.String()
}
