---The review tab: opened, kept up to date, closed.
local borrow = require("sandbox.review.borrow")
local buffer = require("sandbox.buffer")
local decide = require("sandbox.review.decide")
local differ = require("sandbox.review.differ")
local highlight = require("sandbox.highlight")
local keys = require("sandbox.review.keys")
local layout = require("sandbox.review.layout")
local message = require("sandbox.message")
local pair = require("sandbox.review.pair")
local panel = require("sandbox.review.panel")
local rpc = require("sandbox.rpc")
local sessions = require("sandbox.review.session")

local M = {}

---@return sandbox.Hunk[]?, integer?, integer?, integer[][]?
differ.source = function()
  local session = sessions.in_tab()
  local file = session and session.file
  if not session or not file or file.placeholder or pair.obstacle(session) then
    return
  end
  local function lines(side)
    return (file[side].text or "") == "" and 0 or vim.api.nvim_buf_line_count(session.bufs[side])
  end
  return file.hunks, lines("host"), lines("sandbox"), file.apart
end

---@param session sandbox.Session
local function arrive(session)
  session.borrowed:set_globals(differ.options)
  for _, side in ipairs({ "host", "sandbox" }) do
    local buf = session.bufs[side]
    if session.file and buf and vim.api.nvim_buf_is_valid(buf) then
      session.borrowed:set_maps(buf, keys.text())
    end
  end
end

---@param session sandbox.Session
local function leave(session)
  session.borrowed:restore_all_maps()
  session.borrowed:restore_globals()
end

---@param session sandbox.Session
local function watch(session)
  local function on(events, options)
    options.group = session.augroup
    vim.api.nvim_create_autocmd(events, options)
  end
  on("TabEnter", {
    callback = function()
      if vim.api.nvim_get_current_tabpage() == session.tab then
        arrive(session)
      end
    end,
  })
  on("TabLeave", {
    callback = function()
      if vim.api.nvim_get_current_tabpage() == session.tab then
        leave(session)
      end
    end,
  })
  on("WinClosed", {
    callback = function(event)
      local win = tonumber(event.match)
      for _, own in pairs(session.wins) do
        if own == win and not session.closed then
          pair.release(session)
          vim.schedule(function()
            M.close(session)
          end)
          return
        end
      end
    end,
  })
  on({ "CursorMoved", "CursorMovedI", "TextChanged", "TextChangedI", "WinEnter", "BufModifiedSet" }, {
    callback = function(event)
      local side = sessions.side_of(session)
      if side and session.file and event.buf == session.bufs[side] and sessions.alive(session) then
        pair.refresh(session)
      end
    end,
  })
  on("WinScrolled", {
    callback = function()
      local win = vim.api.nvim_get_current_win()
      if sessions.side_of(session, win) and sessions.alive(session) then
        require("sandbox.review.mark").keep_level(session, win)
      end
    end,
  })
  on("BufWritePost", {
    callback = function(event)
      if session.file and event.buf == session.bufs.host then
        local path = session.file.path
        rpc.call("saved", { name = session.name, path = path }, function(err, answer)
          if not sessions.alive(session) then
            return
          elseif err then
            message.error(err)
          elseif session.file and session.file.path == path then
            decide.apply(session, answer)
          end
        end)
      end
    end,
  })
  on("VimResized", {
    callback = function()
      if vim.api.nvim_get_current_tabpage() == session.tab and sessions.alive(session) then
        layout.resize(session.wins)
        panel.render(session)
      end
    end,
  })
  on("ColorScheme", { callback = highlight.define })
end

local listening = false

---What other clients do to a sandbox, and `:write` in a sandbox buffer, reach its review.
local function listen()
  if listening then
    return
  end
  listening = true
  rpc.on("changed", function(event)
    local session = sessions.by_name(event.name)
    if session and sessions.alive(session) then
      decide.refresh(session)
    end
  end)
  buffer.on_written = function(name, path, answer)
    local session = sessions.by_name(name)
    if not session or not sessions.alive(session) then
      return
    elseif answer.file and session.file and session.file.path == path then
      decide.apply(session, answer)
    else
      decide.refresh(session)
    end
  end
end

---@param list sandbox.List
---@return sandbox.Session
local function start(list)
  highlight.define()
  listen()
  local origin = { tab = vim.api.nvim_get_current_tabpage(), win = vim.api.nvim_get_current_win() }
  local tab, wins, panel_buffer = layout.open(list.name)
  ---@type sandbox.Session
  local session = {
    name = list.name,
    dir = list.dir,
    all = list.all,
    ignored = false,
    tab = tab,
    origin = origin,
    wins = wins,
    bufs = { panel = panel_buffer },
    list = list,
    borrowed = borrow.new(),
    own = {},
    busy = false,
    queue = {},
    counts = { accepted = 0, rejected = 0 },
    decided = {},
    undone = {},
    augroup = vim.api.nvim_create_augroup("sandbox.review." .. tab, { clear = true }),
    stacked = false,
    flat = false,
    lines = {},
    closed = false,
  }
  sessions.add(session)
  vim.bo[panel_buffer].filetype = "sandbox-panel"
  layout.panel_options(wins.panel)
  for _, map in ipairs(keys.panel()) do
    vim.keymap.set(map.mode, map.lhs, map.rhs, { buffer = panel_buffer, desc = map.desc, nowait = true })
  end
  local actions = require("sandbox.review.actions")
  vim.keymap.set("n", "<CR>", actions.open, { buffer = panel_buffer, desc = "Sandbox: open", nowait = true })
  vim.keymap.set("n", "i", actions.toggle_tree, { buffer = panel_buffer, desc = "Sandbox: tree or list" })
  watch(session)
  arrive(session)
  panel.render(session)
  local first = list.files[1]
  for _, row in ipairs(list.files) do
    if row.host ~= "dir" and row.sandbox ~= "dir" then
      first = row -- a directory has no text to look at
      break
    end
  end
  if first then
    M.show(session, first.path, { select = "first", focus = true })
  else
    vim.api.nvim_set_current_win(wins.panel)
  end
  return session
end

---Show a file in the pair.
---@param session sandbox.Session
---@param path string
---@param options { select: "first"|"last", focus?: boolean }
function M.show(session, path, options)
  decide.enqueue(session, function()
    decide.ask(session, "file", { name = session.name, path = path }, function(err, file)
      if err then
        message.error(err)
        return
      end
      pair.show(session, file)
      panel.move_to(session, file.path)
      if options.focus then
        -- Where the lines are.
        vim.api.nvim_set_current_win(
          pair.empty_side(file) == "sandbox" and session.wins.host or session.wins.sandbox
        )
      end
      pair.jump(session, options.select == "last" and #file.hunks or 1)
    end)
  end)
end

---@param name string
---@param dir string
local function open_named(name, dir)
  local session = sessions.by_name(name)
  if session and sessions.alive(session) then
    vim.api.nvim_set_current_tabpage(session.tab)
    decide.refresh(session)
    return
  end
  rpc.call("review_open", { name = name, dir = dir, all = false, show = "" }, function(err, answer)
    if err then
      message.error(err)
    else
      start(answer.review)
    end
  end)
end

---Open the review of a sandbox, or of the one that this directory's changes are in.
---@param name? string
function M.open(name)
  local dir = vim.fs.normalize(vim.fn.getcwd())
  if name then
    open_named(name, dir)
    return
  end
  rpc.call("resolve_review", { dir = dir }, function(err, answer)
    if err then
      message.error(err)
    elseif #answer.names == 1 then
      open_named(answer.names[1], dir)
    else
      vim.ui.select(answer.names, { prompt = "Review which sandbox?" }, function(choice)
        if choice then
          open_named(choice, dir)
        end
      end)
    end
  end)
end

---The buffers of a sandbox's files that hold unsaved edits.
---@param session sandbox.Session
---@return boolean
local function drop_sandbox_buffers(session)
  local kept = false
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = buffer.parse(vim.api.nvim_buf_get_name(buf))
    -- A listed one was opened by the user himself.
    if name == session.name and not vim.bo[buf].buflisted and #vim.fn.win_findbuf(buf) == 0 then
      if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
        vim.bo[buf].buflisted = true
        kept = true
      else
        pcall(vim.api.nvim_buf_delete, buf, { force = true })
      end
    end
  end
  return kept
end

---Close a review. Only its own windows go, and all that it borrowed is given back.
---@param session sandbox.Session
function M.close(session)
  if session.closed then
    return
  end
  session.closed = true
  if session.file then
    pair.release(session)
  end
  leave(session)
  pcall(vim.api.nvim_del_augroup_by_id, session.augroup)
  sessions.remove(session)
  if vim.api.nvim_tabpage_is_valid(session.tab) then
    if #vim.api.nvim_list_tabpages() == 1 then
      vim.cmd("tabnew")
    elseif
      vim.api.nvim_get_current_tabpage() == session.tab
      and vim.api.nvim_win_is_valid(session.origin.win)
      and vim.api.nvim_tabpage_is_valid(session.origin.tab)
    then
      vim.api.nvim_set_current_win(session.origin.win)
    end
    for _, side in ipairs({ "panel", "sandbox", "host" }) do
      local win = session.wins[side]
      if vim.api.nvim_win_is_valid(win) then
        pcall(vim.api.nvim_win_close, win, true)
      end
    end
  end
  if vim.api.nvim_buf_is_valid(session.bufs.panel) then
    vim.api.nvim_buf_delete(session.bufs.panel, { force = true })
  end
  for buf in pairs(session.own) do
    pair.drop(session, buf)
  end
  if drop_sandbox_buffers(session) then
    message.warn("a file of the sandbox has unsaved edits; its buffer is kept")
  end
  rpc.call("review_close", { name = session.name }, function() end)
end

return M
