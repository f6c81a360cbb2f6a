---Bytes of a file, and what Neovim makes of them.
---
---Neovim itself decodes and encodes, with the user's own 'fileencodings' and 'fileformats', so that a
---buffer filled from bytes looks exactly as if the file had been edited, and writes exactly those bytes
---again.
local M = {}

---@class sandbox.Text
---@field lines string[]
---@field fileformat string
---@field fileencoding string
---@field bomb boolean
---@field endofline boolean
---@field empty boolean not a single byte

---The folder of |tempname()| is the editor's own and closed to others.
---@param bytes string
---@return string path
local function temporary(bytes)
  local path = vim.fn.tempname()
  local file = assert(io.open(path, "wb"))
  file:write(bytes)
  assert(file:close())
  return path
end

---Remove a temporary file, and the buffer that :read and :write make for its name.
---@param path string
local function clean_up(path)
  os.remove(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buf) == path then
      vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

---@param bytes string
---@return sandbox.Text
function M.decode(bytes)
  local path = temporary(bytes)
  local buf = vim.api.nvim_create_buf(false, true)
  local bo = vim.bo[buf]
  bo.modeline, bo.swapfile, bo.undolevels = false, false, -1
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent noautocmd keepalt keepjumps 0read ++edit " .. vim.fn.fnameescape(path))
    if bytes ~= "" then
      vim.cmd("silent noautocmd keepjumps lockmarks $delete _")
    end
  end)
  clean_up(path)
  local text = {
    lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false),
    fileformat = bo.fileformat,
    fileencoding = bo.fileencoding,
    bomb = bo.bomb,
    endofline = bo.endofline,
    empty = bytes == "",
  }
  vim.api.nvim_buf_delete(buf, { force = true })
  if not ok then
    error(err, 0)
  end
  return text
end

---The bytes that writing a buffer would give.
---@param buf integer
---@return string
function M.encode(buf)
  if vim.api.nvim_buf_line_count(buf) == 1 and not vim.bo[buf].endofline then
    if vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == "" then
      return ""
    end
  end
  local path = temporary("")
  vim.api.nvim_buf_call(buf, function()
    vim.cmd("silent noautocmd keepalt lockmarks write! " .. vim.fn.fnameescape(path))
  end)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read("*a")
  file:close()
  clean_up(path)
  return bytes
end

---Whether a buffer shows this text, whatever its options say.
---@param buf integer
---@param text sandbox.Text
---@return boolean
function M.shown_in(buf, text)
  if vim.api.nvim_buf_line_count(buf) ~= #text.lines then
    return false
  end
  for i, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    if line ~= text.lines[i] then
      return false
    end
  end
  return true
end

---Make a buffer's lines those of a text, touching only the lines that differ, so that the cursor and
---the marks stay.
---@param buf integer
---@param text sandbox.Text
function M.put(buf, text)
  local old, new = vim.api.nvim_buf_get_lines(buf, 0, -1, false), text.lines
  local first, shared = 0, math.min(#old, #new)
  while first < shared and old[first + 1] == new[first + 1] do
    first = first + 1
  end
  local last = 0
  while last < shared - first and old[#old - last] == new[#new - last] do
    last = last + 1
  end
  if first + last < math.max(#old, #new) then
    vim.api.nvim_buf_set_lines(buf, first, #old - last, false, vim.list_slice(new, first + 1, #new - last))
  end
  local bo = vim.bo[buf]
  bo.fileformat, bo.bomb = text.fileformat, text.bomb
  if bo.fileencoding ~= text.fileencoding then
    bo.fileencoding = text.fileencoding
  end
  bo.endofline, bo.fixendofline = text.endofline and not text.empty, false
end

return M
