---The pair of windows in diff mode: the user's own buffer of the host file on the left, the sandbox's
---version on the right.
local blocks = require("sandbox.review.blocks")
local buffer = require("sandbox.buffer")
local keys = require("sandbox.review.keys")
local layout = require("sandbox.review.layout")
local mark = require("sandbox.review.mark")
local message = require("sandbox.message")
local sessions = require("sandbox.review.session")
local text = require("sandbox.text")
local winbar = require("sandbox.review.winbar")

local M = {}

---What both windows of the pair need. Folding would hide a file whose last block was just decided.
local window_options = {
  foldenable = false,
  foldcolumn = "0",
  signcolumn = "yes:1",
  number = true,
  relativenumber = false,
  cursorline = false,
  winfixbuf = false,
  scrollbind = false,
  cursorbind = false,
}

---@param win integer
---@param command string
local function in_window(win, command)
  vim.api.nvim_win_call(win, function()
    vim.cmd(command)
  end)
end

---Open a host file without any question being asked: a swap file of another editor gives a read-only
---buffer and a message.
---@param session sandbox.Session
---@param path string
---@return integer
local function host_buffer(session, path)
  local known = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    known[buf] = true
  end
  local buf = vim.fn.bufadd(path)
  if not known[buf] then
    session.own[buf] = true
  end
  return buf
end

---@param session sandbox.Session
---@param win integer
---@param buf integer
local function enter(session, win, buf)
  local swap
  if not vim.api.nvim_buf_is_loaded(buf) then
    swap = vim.api.nvim_create_autocmd("SwapExists", {
      group = session.augroup,
      callback = function(event)
        vim.api.nvim_set_vvar("swapchoice", "o")
        message.warn(vim.fs.basename(event.match) .. " is open in another editor: shown read-only here")
      end,
    })
  end
  vim.wo[win][0].winfixbuf = false
  -- :buffer, because |nvim_win_set_buf()| asks no SwapExists autocommand.
  local ok, err = pcall(in_window, win, ("silent hide keepalt keepjumps buffer %d"):format(buf))
  if swap then
    pcall(vim.api.nvim_del_autocmd, swap)
  end
  if not ok and not vim.api.nvim_buf_is_loaded(buf) then
    error(err, 0)
  end
end

---A buffer that says why there is no text.
---@param lines string[]
---@return integer
local function placeholder(lines)
  local buf = layout.empty_buffer()
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
  return buf
end

---@param file sandbox.File
---@param side sandbox.Side
---@return string[]
local function placeholder_lines(file, side)
  if side.type == "none" or side.type == "" then
    return { "", "  nothing here" }
  end
  local lines = { "", ("  %s, mode %o"):format(side.type:gsub("_", " "), side.mode) }
  for _, line in ipairs(side == file.sandbox and file.git or {}) do
    table.insert(lines, "  " .. message.clean(line))
  end
  if side.target then
    table.insert(lines, "  → " .. message.clean(side.target))
  end
  if side.type == "file" then
    table.insert(lines, ("  %d bytes, not shown: %s"):format(side.size, file.placeholder))
  end
  return lines
end

---@param session sandbox.Session
---@param file sandbox.File
---@return integer host
---@return integer sandbox
local function buffers(session, file)
  if file.placeholder then
    return placeholder(placeholder_lines(file, file.host)), placeholder(placeholder_lines(file, file.sandbox))
  end
  local host = file.host.type == "file" and host_buffer(session, file.from or file.path)
    or layout.empty_buffer()
  local sandbox = file.sandbox.type == "file" and buffer.ensure(session.name, file.path)
    or layout.empty_buffer()
  return host, sandbox
end

---Whether a 'modified' buffer is so only because editorconfig set an option after loading.
---@param buf integer
---@param content sandbox.Text
---@return boolean
local function only_editorconfig(buf, content)
  local config = vim.b[buf].editorconfig
  if type(config) ~= "table" or not text.shown_in(buf, content) then
    return false
  end
  local bo = vim.bo[buf]
  local formats = { lf = "unix", crlf = "dos", cr = "mac" }
  local format_ok = bo.fileformat == content.fileformat or bo.fileformat == formats[config.end_of_line]
  local charset_ok = config.charset ~= nil
    or (bo.bomb == content.bomb and (bo.fileencoding == content.fileencoding or bo.fileencoding == ""))
  return format_ok and charset_ok
end

---Whether a buffer holds text that the user has not saved.
---@param session sandbox.Session
---@param buf? integer
---@return boolean
function M.unsaved(session, buf)
  if
    not buf
    or not vim.api.nvim_buf_is_loaded(buf)
    or vim.bo[buf].buftype ~= ""
    or not vim.bo[buf].modified
  then
    return false
  end
  local shown = session.shown
  return not (buf == session.bufs.host and shown and shown.host and only_editorconfig(buf, shown.host))
end

---Reload a buffer whose file the engine wrote. The reload is an undo step of its own.
---
---Neovim reads with the 'fileformat' and 'fileencoding' that the buffer has, and editorconfig may have set
---others than the file's: they are put right first. Editorconfig sets its own again after the reload.
---@param buf integer that holds nothing of the user's
---@param content? sandbox.Text what the file holds now
function M.reload(buf, content)
  local bo = vim.bo[buf]
  local had =
    { fileformat = bo.fileformat, fileencoding = bo.fileencoding, bomb = bo.bomb, autoread = bo.autoread }
  local modified, tick = bo.modified, vim.api.nvim_buf_get_changedtick(buf)
  if content then
    bo.fileformat, bo.fileencoding, bo.bomb = content.fileformat, content.fileencoding, content.bomb
    bo.modified = false
  end
  if not had.autoread then
    bo.autoread = true
  end
  vim.cmd("silent checktime " .. buf)
  if not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  if not had.autoread then
    vim.api.nvim_buf_call(buf, function()
      vim.cmd(vim.go.autoread and "setlocal noautoread" or "set autoread<")
    end)
  end
  if content and vim.api.nvim_buf_get_changedtick(buf) == tick then
    bo.fileformat, bo.fileencoding, bo.bomb = had.fileformat, had.fileencoding, had.bomb
    bo.modified = modified
  end
end

---@class sandbox.Obstacle
---@field short string for the line above the window
---@field long string what to do about it

---@param short string
---@param advice string
---@return sandbox.Obstacle
local function obstacle(short, advice)
  return { short = short, long = short .. ": " .. advice }
end

---Why no block can be decided on now, nil when nothing is in the way.
---@param session sandbox.Session
---@return sandbox.Obstacle?
function M.obstacle(session)
  local file, shown = session.file, session.shown
  if not file or not shown then
    return obstacle("no file is open", "choose one in the panel")
  elseif file.placeholder then
    return nil
  end
  local host, sandbox = session.bufs.host, session.bufs.sandbox
  if file.sandbox.type == "file" then
    if vim.bo[sandbox].modified then
      return obstacle("unsaved edits in the sandbox's text", "write them with :w, or undo them")
    end
    local state = buffer.loaded(sandbox)
    if not state or state.print ~= file.sandbox.print then
      return obstacle("the sandbox's file moved", "compare again")
    end
  end
  if file.host.type == "file" then
    if M.unsaved(session, host) then
      return obstacle("unsaved edits in the host's text", "write them with :w, or undo them")
    end
    local tick = vim.api.nvim_buf_get_changedtick(host)
    if tick ~= shown.host_tick then
      shown.host_tick, shown.host_ok = tick, text.shown_in(host, shown.host)
    end
    if not shown.host_ok then
      return obstacle("this is not the host's file as it is now", "read it again with :edit")
    end
  end
  return nil
end

---Take note of what the windows show, and reload what is behind.
---@param session sandbox.Session
---@param file sandbox.File
local function check(session, file)
  local previous = session.shown and session.shown.host
  session.shown = { host_ok = true }
  if file.placeholder or file.host.type ~= "file" then
    return
  end
  local buf = session.bufs.host
  local content = text.decode(file.host.text)
  -- Also where the text is equal: the file's times may have moved, and Neovim is to take note of them.
  if not vim.bo[buf].modified or only_editorconfig(buf, previous or content) then
    M.reload(buf, content)
  end
  session.shown.host = content
  session.shown.host_tick = vim.api.nvim_buf_get_changedtick(buf)
  session.shown.host_ok = text.shown_in(buf, content)
end

---@param session sandbox.Session
---@param file sandbox.File
local function fill(session, file)
  if not file.placeholder and file.sandbox.type == "file" then
    local buf = session.bufs.sandbox
    if not vim.bo[buf].modified then
      buffer.fill(buf, file.path, text.decode(file.sandbox.text), file.sandbox.print)
    end
  end
end

---Take the borrowed things off the pair.
---@param session sandbox.Session
function M.release(session)
  session.borrowed:restore_all_maps()
  for _, side in ipairs({ "host", "sandbox" }) do
    local win, buf = session.wins[side], session.bufs[side]
    mark.clear(buf)
    if vim.api.nvim_win_is_valid(win) then
      if vim.wo[win].diff then
        in_window(win, "diffoff")
      end
      session.borrowed:restore_window(win)
    end
  end
end

---Whether the buffers of the pair fit a file, so that only their text need change.
---@param session sandbox.Session
---@param file sandbox.File
---@return boolean
local function same_buffers(session, file)
  local now = session.file
  if not now or now.path ~= file.path or now.from ~= file.from or now.placeholder or file.placeholder then
    return false
  end
  for _, side in ipairs({ "host", "sandbox" }) do
    if now[side].type ~= file[side].type then
      return false
    end
    if vim.api.nvim_win_get_buf(session.wins[side]) ~= session.bufs[side] then
      return false
    end
  end
  return true
end

---@param session sandbox.Session
---@param file sandbox.File
local function install(session, file)
  M.release(session)
  session.file = nil
  local old = session.bufs.host
  session.bufs.host, session.bufs.sandbox = buffers(session, file)
  for _, side in ipairs({ "host", "sandbox" }) do
    local win = session.wins[side]
    enter(session, win, session.bufs[side])
    session.borrowed:set_window(win, window_options)
    session.borrowed:set_window(win, { winbar = "" })
  end
  local hint = keys.hint()
  if hint then
    session.borrowed:set_window(session.wins.sandbox, { statusline = hint })
  end
  if old and old ~= session.bufs.host then
    M.drop(session, old)
  end
  if not file.placeholder then
    -- The host first: diff mode numbers its buffers in this order.
    in_window(session.wins.host, "diffthis")
    in_window(session.wins.sandbox, "diffthis")
    for _, side in ipairs({ "host", "sandbox" }) do
      session.borrowed:set_window(session.wins[side], { foldenable = false, foldcolumn = "0" })
      if M.empty_side(file) then
        -- Bound to a window without lines, the other one would be scrolled to its end.
        session.borrowed:set_window(session.wins[side], { scrollbind = false, cursorbind = false })
      end
    end
  end
end

---The side of a text comparison that has no line at all.
---@param file sandbox.File
---@return sandbox.SideName?
function M.empty_side(file)
  for _, side in ipairs({ "host", "sandbox" }) do
    if not file.placeholder and (file[side].text or "") == "" then
      return side
    end
  end
end

---Give up a host buffer that the review made and nobody else shows.
---@param session sandbox.Session
---@param buf integer
function M.drop(session, buf)
  if not session.own[buf] or not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  if vim.bo[buf].modified and M.unsaved(session, buf) then
    vim.bo[buf].buflisted = true
    return
  end
  if #vim.fn.win_findbuf(buf) > 0 then
    if not session.closed and vim.api.nvim_win_is_valid(session.wins.host) then
      return
    end
    vim.bo[buf].buflisted = true
    return
  end
  session.own[buf] = nil
  pcall(vim.api.nvim_buf_delete, buf, { force = true })
end

---Show a file in the pair, or its new state.
---@param session sandbox.Session
---@param file sandbox.File
function M.show(session, file)
  if same_buffers(session, file) then
    local views = {}
    for _, side in ipairs({ "host", "sandbox" }) do
      views[side] = vim.api.nvim_win_call(session.wins[side], vim.fn.winsaveview)
    end
    session.file = nil
    fill(session, file)
    check(session, file)
    session.file = file
    for side, view in pairs(views) do
      vim.api.nvim_win_call(session.wins[side], function()
        vim.fn.winrestview(view)
      end)
    end
    session.selected = nil
  else
    install(session, file)
    fill(session, file)
    check(session, file)
    session.file = file
    session.selected = nil
  end
  for _, side in ipairs({ "host", "sandbox" }) do
    session.borrowed:set_maps(session.bufs[side], keys.text())
  end
  if not file.placeholder then
    in_window(session.wins.sandbox, "diffupdate")
  end
  M.refresh(session)
end

---Find the block at the cursor again and draw.
---@param session sandbox.Session
function M.refresh(session)
  local problem
  if session.file then
    problem = M.obstacle(session)
    local side = sessions.side_of(session)
    if session.file.placeholder then
      session.selected = #session.file.hunks > 0 and (session.selected or 1) or nil
    elseif side then
      local win = session.wins[side]
      session.selected = blocks.at(
        session.file.hunks,
        side,
        vim.api.nvim_win_get_cursor(win)[1],
        vim.api.nvim_buf_line_count(session.bufs[side]),
        session.selected
      )
    end
    mark.draw(session, problem == nil)
  end
  winbar.draw(session, problem and problem.short)
end

---Put the cursors of both windows on a block.
---@param session sandbox.Session
---@param index integer
function M.jump(session, index)
  local hunk = session.file and session.file.hunks[index]
  if not hunk then
    return
  end
  session.selected = index
  if not session.file.placeholder then
    for _, side in ipairs({ "host", "sandbox" }) do
      local win = session.wins[side]
      local line = blocks.anchor(hunk, side, vim.api.nvim_buf_line_count(session.bufs[side]))
      vim.api.nvim_win_set_cursor(win, { line, 0 })
    end
    vim.api.nvim_win_call(session.wins[sessions.side_of(session) or "sandbox"], function()
      vim.cmd("normal! zz")
    end)
    mark.show_above(session)
    -- Once more when the screen was drawn: diff mode binds the windows' scrolling right before that, and
    -- forgets the virtual lines of the window without the cursor.
    vim.defer_fn(function()
      if sessions.alive(session) and session.selected == index then
        mark.show_above(session)
      end
    end, 1)
  end
  M.refresh(session)
end

return M
