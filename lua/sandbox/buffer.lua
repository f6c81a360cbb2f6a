---The `sandbox://NAME/abs/path` buffers: files as the sandbox has them.
---
---The text in them is foreign. They are quiet: no swap file, no modeline, no 'filetype' (so no ftplugin,
---no language server, no formatter), and `:write` goes into the sandbox and nowhere else.
local message = require("sandbox.message")
local rpc = require("sandbox.rpc")
local text = require("sandbox.text")

local M = {}

---How long `:write` waits for the sandbox.
local WRITE_TIMEOUT = 15000

---@class sandbox.Loaded
---@field print string fingerprint of the bytes that were loaded
---@field tick integer changedtick after loading

---@type table<integer, sandbox.Loaded>
local loaded = {}

---Called after a buffer was written, with the answer of the host.
---@type fun(name: string, path: string, answer: table)?
M.on_written = nil

---@param name string
---@param path string
---@return string
function M.uri(name, path)
  return "sandbox://" .. name .. path
end

---@param uri string
---@return string? name
---@return string? path
function M.parse(uri)
  return uri:match("^sandbox://([^/]+)(/.*)$")
end

---The buffer of an exact name. |bufnr()| would take the name for a pattern.
---@param name string
---@return integer?
function M.find(name)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(buf) == name then
      return buf
    end
  end
end

---@param buf integer
local function make_quiet(buf)
  local bo = vim.bo[buf]
  bo.modeline, bo.swapfile, bo.undofile, bo.fixendofline = false, false, false, false
  bo.buftype, bo.bufhidden = "acwrite", "hide"
  if not vim.b[buf].sandbox_quiet then
    vim.b[buf].sandbox_quiet = true
    vim.api.nvim_create_autocmd("BufWipeout", {
      buffer = buf,
      once = true,
      callback = function()
        loaded[buf] = nil
      end,
    })
  end
end

---Colours without 'filetype'. Debian's Neovim has no parsers, and a query of the user's may be broken.
---@param buf integer
---@param path string
local function colour(buf, path)
  local filetype = vim.filetype.match({ filename = path, buf = buf })
  if not filetype then
    return
  end
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  if not pcall(vim.treesitter.start, buf, language) then
    pcall(function()
      vim.bo[buf].syntax = filetype
    end)
  end
end

---The buffer of a path in a sandbox, made when there is none.
---@param name string
---@param path string
---@return integer
function M.ensure(name, path)
  local uri = M.uri(name, path)
  local buf = M.find(uri)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    return buf
  end
  buf = buf or vim.api.nvim_create_buf(false, false)
  -- Quiet first: a name would have a swap file made for it.
  make_quiet(buf)
  if vim.api.nvim_buf_get_name(buf) == "" then
    vim.api.nvim_buf_set_name(buf, uri)
  end
  -- Loading must not read by itself: the caller has the bytes.
  local ignored = vim.o.eventignore
  vim.o.eventignore = "all"
  local ok, err = pcall(vim.fn.bufload, buf)
  vim.o.eventignore = ignored
  if not ok then
    error(err, 0)
  end
  make_quiet(buf)
  return buf
end

---Show bytes in a buffer. The first load is no undo step, later ones are.
---@param buf integer
---@param path string
---@param content sandbox.Text
---@param print string
function M.fill(buf, path, content, print)
  make_quiet(buf)
  local bo = vim.bo[buf]
  local first = loaded[buf] == nil
  local levels = bo.undolevels
  bo.modifiable, bo.readonly = true, false
  if first then
    bo.undolevels = -1
  end
  text.put(buf, content)
  if first then
    bo.undolevels = levels
    colour(buf, path)
  end
  bo.modified = false
  loaded[buf] = { print = print, tick = vim.api.nvim_buf_get_changedtick(buf) }
end

---What was loaded into a buffer.
---@param buf integer
---@return sandbox.Loaded?
function M.loaded(buf)
  return loaded[buf]
end

---|BufReadCmd|
---@param buf integer
function M.on_read(buf)
  local name, path = M.parse(vim.api.nvim_buf_get_name(buf))
  make_quiet(buf)
  if not name then
    message.error("a name like sandbox://NAME/absolute/path is needed")
    return
  end
  vim.bo[buf].modifiable = false
  rpc.call("read", { name = name, path = path }, function(err, file)
    if not vim.api.nvim_buf_is_loaded(buf) then
      return
    end
    if err then
      message.error(err)
      return
    end
    if not file.sandbox.text then
      message.warn(("%s is not shown: %s"):format(path, file.placeholder))
      return
    end
    if file.sandbox.type == "none" then
      message.info(("%s is not there in sandbox %s"):format(path, name))
    end
    M.fill(buf, path, text.decode(file.sandbox.text), file.sandbox.print)
    if M.on_written then
      M.on_written(name, path, {})
    end
  end)
end

---|BufWriteCmd|
---@param buf integer
function M.on_write(buf)
  local name, path = M.parse(vim.api.nvim_buf_get_name(buf))
  local state = loaded[buf]
  if not name or not state then
    message.error("this buffer was not loaded from a sandbox")
    return
  end
  local err, answer = rpc.await("write", {
    name = name,
    path = path,
    data = text.encode(buf),
    expect = state.print,
  }, WRITE_TIMEOUT)
  if err then
    if err.code == "stale" then
      err.hint = "The sandbox's file changed meanwhile; read it again with :edit! (this drops your edit)."
    end
    message.error(err)
    return
  end
  vim.bo[buf].modified = false
  loaded[buf] = { print = answer.print, tick = vim.api.nvim_buf_get_changedtick(buf) }
  message.info(("wrote %s in sandbox %s"):format(path, name))
  if M.on_written then
    M.on_written(name, path, answer)
  end
end

return M
