---The three windows of a review.
local config = require("sandbox.config")

local M = {}

---@param win integer
---@param values table<string, any>
local function set(win, values)
  for name, value in pairs(values) do
    vim.wo[win][0][name] = value
  end
end

---@param win integer
---@param buf integer
local function put(win, buf)
  -- The window was split off one of the user's, which may be pinned to its buffer.
  vim.wo[win][0].winfixbuf = false
  vim.api.nvim_win_set_buf(win, buf)
end

---@param name string
---@return integer
local function scratch(name)
  local buf = vim.api.nvim_create_buf(false, true)
  local bo = vim.bo[buf]
  bo.bufhidden, bo.swapfile, bo.modeline, bo.undolevels = "hide", false, false, -1
  pcall(vim.api.nvim_buf_set_name, buf, name)
  return buf
end

---@return integer
function M.empty_buffer()
  local buf = vim.api.nvim_create_buf(false, true)
  local bo = vim.bo[buf]
  bo.bufhidden, bo.swapfile, bo.modeline, bo.modifiable = "wipe", false, false, false
  return buf
end

---@param win integer
function M.panel_options(win)
  set(win, {
    number = false,
    relativenumber = false,
    signcolumn = "no",
    foldcolumn = "0",
    statuscolumn = "",
    colorcolumn = "",
    wrap = false,
    list = false,
    spell = false,
    cursorline = true,
    winfixwidth = true,
    foldenable = false,
    winbar = "",
    fillchars = "eob: ",
    scrollbind = false,
    cursorbind = false,
    diff = false,
    statusline = " s accept  X reject  g? help",
    winfixbuf = true,
  })
end

---Open a tab with panel, host and sandbox windows.
---@param name string
---@return integer tab
---@return { panel: integer, host: integer, sandbox: integer } wins
---@return integer panel_buffer
function M.open(name)
  local panel = scratch("sandbox-review://" .. name)
  vim.cmd("tab split")
  local tab = vim.api.nvim_get_current_tabpage()
  local wins = { host = vim.api.nvim_get_current_win() }
  put(wins.host, M.empty_buffer())
  vim.cmd("leftabove vertical split")
  wins.panel = vim.api.nvim_get_current_win()
  put(wins.panel, panel)
  M.panel_options(wins.panel)
  vim.api.nvim_set_current_win(wins.host)
  vim.cmd("rightbelow vertical split")
  wins.sandbox = vim.api.nvim_get_current_win()
  put(wins.sandbox, M.empty_buffer())
  M.resize(wins)
  return tab, wins, panel
end

---Give the panel its width, and the pair the same room each.
---@param wins { panel: integer, host: integer, sandbox: integer }
function M.resize(wins)
  local width = math.floor(math.min(config.get().panel_width, vim.o.columns / 3))
  vim.api.nvim_win_set_width(wins.panel, math.max(width, 16))
  vim.api.nvim_win_call(wins.sandbox, function()
    vim.cmd("wincmd =")
  end)
end

---Put the pair side by side or one above the other.
---@param session sandbox.Session
function M.toggle(session)
  session.stacked = not session.stacked
  local wins = session.wins
  vim.fn.win_splitmove(wins.sandbox, wins.host, { vertical = not session.stacked, rightbelow = true })
  M.resize(wins)
end

return M
