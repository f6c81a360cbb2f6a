std = "luajit"
read_globals = { "vim" }
globals = { "vim.g", "vim.b", "vim.w", "vim.o", "vim.bo", "vim.wo", "vim.opt", "vim.opt_local", "vim.env" }
max_line_length = 120
codes = true
