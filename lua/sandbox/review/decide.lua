---Carries decisions out: one after the other, one call each.
local blocks = require("sandbox.review.blocks")
local buffer = require("sandbox.buffer")
local message = require("sandbox.message")
local pair = require("sandbox.review.pair")
local panel = require("sandbox.review.panel")
local rpc = require("sandbox.rpc")
local sessions = require("sandbox.review.session")

local M = {}

---A key that is pressed while a decision is under way waits for it.
---@param session sandbox.Session
---@param step fun()
function M.enqueue(session, step)
  if session.busy then
    table.insert(session.queue, step)
  else
    step()
  end
end

---@param session sandbox.Session
function M.next(session)
  session.busy = false
  -- A step that asks the host is busy again; one that does not makes room for the next.
  while not session.busy and #session.queue > 0 do
    table.remove(session.queue, 1)()
  end
end

---Ask the host; the next step waits until the answer was dealt with, well or badly.
---@param session sandbox.Session
---@param method string
---@param arguments table
---@param callback sandbox.Callback not called when the review is gone by then
function M.ask(session, method, arguments, callback)
  session.busy = true
  rpc.call(method, arguments, function(err, answer)
    if not sessions.alive(session) then
      return
    end
    local ok, problem = xpcall(callback, debug.traceback, err, answer)
    M.next(session)
    if not ok then
      error(problem, 0)
    end
  end)
end

---Reload the buffers of paths that were written, wherever they are shown.
---@param session sandbox.Session
---@param rows { path: string }[]
local function reload_others(session, rows)
  local written = {}
  for _, row in ipairs(rows) do
    written[row.path] = true
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if written[name] and buf ~= session.bufs.host and vim.api.nvim_buf_is_loaded(buf) then
      if vim.bo[buf].modified then
        message.warn(("%s was written; its buffer has unsaved edits and was not reloaded"):format(name))
      elseif vim.uv.fs_lstat(name) then
        pair.reload(buf)
      else
        message.warn(("%s is gone from the host; its buffer keeps the text"):format(name))
      end
    end
  end
end

---Bring the list up to date where only some of its rows moved.
---@param list sandbox.List
---@param patch { seq: integer, running: boolean, set: sandbox.Row[], gone: string[] }
local function patch_list(list, patch)
  list.seq, list.running = patch.seq, patch.running
  local set, gone = {}, {}
  for _, row in ipairs(patch.set) do
    set[row.path] = row
  end
  for _, path in ipairs(patch.gone) do
    gone[path] = true
  end
  local files = {}
  for _, row in ipairs(list.files) do
    if set[row.path] then
      table.insert(files, set[row.path])
      set[row.path] = nil
    elseif not gone[row.path] then
      table.insert(files, row)
    end
  end
  if next(set) then
    vim.list_extend(files, vim.tbl_values(set))
    table.sort(files, function(a, b)
      return a.path < b.path
    end)
  end
  list.files = files
end

---Take over the state that an answer carries.
---@param session sandbox.Session
---@param answer { review?: sandbox.List, patch?: table, file?: sandbox.File, result?: table }
function M.apply(session, answer)
  if answer.review then
    session.list = answer.review
  elseif answer.patch then
    patch_list(session.list, answer.patch)
  end
  if answer.file then
    pair.show(session, answer.file)
  end
  panel.render(session)
  if answer.result then
    reload_others(session, answer.result.done)
  end
end

---Compare again what is on the screen: the list, and the file in the pair.
---@param session sandbox.Session
---@param after? fun()
function M.refresh(session, after)
  M.enqueue(session, function()
    M.ask(session, "review_open", {
      name = session.name,
      dir = session.dir,
      all = session.all,
      ignored = session.ignored,
      show = session.file and session.file.path or "",
    }, function(err, answer)
      if err then
        message.error(err)
        return
      end
      M.apply(session, answer)
      if after then
        after()
      end
    end)
  end)
end

---@param verb string
---@param arguments table
---@param result table
---@param session sandbox.Session
---@return string
local function report(session, verb, arguments, result)
  local done = verb == "accept" and "accepted" or verb == "reject" and "rejected" or "took back"
  local first = arguments.decisions and arguments.decisions[1]
  local what
  if verb ~= "undo" and first and first.hunks then
    local n = #first.hunks
    what = ("%s of %s"):format(n == 1 and "1 block" or n .. " blocks", sessions.relative(session, first.path))
  elseif #result.done == 1 then
    what = sessions.relative(session, result.done[1].path)
  else
    what = #result.done .. " files"
  end
  local text = done .. " " .. what
  if #result.skipped > 0 then
    local skip = result.skipped[1]
    text = ("%s; left alone: %s (%s)"):format(text, sessions.relative(session, skip.path), skip.reason)
    if #result.skipped > 1 then
      text = ("%s and %d more"):format(text, #result.skipped - 1)
    end
  end
  return text
end

---@param session sandbox.Session
---@param verb "accept"|"reject"|"undo"
---@param arguments table
---@param kind? "redo"
local function send(session, verb, arguments, kind)
  arguments.name = session.name
  arguments.show = session.file and session.file.path or ""
  M.ask(session, verb, arguments, function(err, answer)
    if err then
      if err.code == "stale" then
        -- What was looked at is not what is there: show what is.
        session.queue = {}
        M.refresh(session, function()
          message.warn("nothing was written, look again: " .. err.message)
        end)
        return
      end
      message.error(err)
      return
    end
    if verb == "undo" then
      local decision = table.remove(session.decided)
      if decision then
        session.counts[decision.count] = session.counts[decision.count] - decision.n
        table.insert(session.undone, decision)
      end
    else
      local n = arguments.decisions and #(arguments.decisions[1].hunks or {}) or 0
      local count = verb == "accept" and "accepted" or "rejected"
      n = n > 0 and n or #answer.result.done
      if answer.result.operation ~= "" then
        session.counts[count] = session.counts[count] + n
        table.insert(session.decided, { verb = verb, arguments = arguments, count = count, n = n })
      end
      if kind ~= "redo" then
        session.undone = {}
      end
    end
    M.apply(session, answer)
    message.info(report(session, verb, arguments, answer.result))
  end)
end

---Whether text that the user has not saved is in the way.
---@param session sandbox.Session
---@param paths table<string, true> of the host and of the sandbox alike
---@return boolean
local function in_the_way(session, paths)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
      local name = vim.api.nvim_buf_get_name(buf)
      local sandbox, path = buffer.parse(name)
      if sandbox == session.name and paths[path] then
        message.error(("%s has unsaved edits in the sandbox's window: write or undo them first"):format(path))
        return true
      elseif paths[name] and pair.unsaved(session, buf) then
        message.error(("%s has unsaved edits: write or undo them first"):format(name))
        return true
      end
    end
  end
  return false
end

---@param row sandbox.Row|sandbox.File
---@param paths table<string, true>
local function add_paths(row, paths)
  paths[row.path] = true
  if row.from then
    paths[row.from] = true
  end
end

---A change that is one thing cannot be taken in part.
---@type table<string, boolean>
local whole = { created = true, deleted = true, type = true }

---Decide on blocks of the file in the pair. They are named by the ids that were on the screen when the
---key was pressed.
---@param session sandbox.Session
---@param verb "accept"|"reject"
---@param indices integer[]
function M.blocks(session, verb, indices)
  local path, ids = session.file.path, {}
  for _, index in ipairs(indices) do
    table.insert(ids, session.file.hunks[index].id)
  end
  M.enqueue(session, function()
    local file = session.file
    if not file or file.path ~= path then
      return
    end
    local obstacle = pair.obstacle(session)
    if obstacle then
      message.error(obstacle.long)
      return
    end
    local hunks = {}
    for _, id in ipairs(ids) do
      local index = blocks.by_id(file.hunks, id)
      if not index then
        message.warn("that block is gone; look again")
        return
      end
      if whole[file.hunks[index].kind] then
        hunks = nil
        break
      end
      table.insert(hunks, id)
    end
    send(session, verb, {
      decisions = { { path = path, hunks = hunks, host = file.host.print, sandbox = file.sandbox.print } },
    })
  end)
end

---Decide on whole changes.
---@param session sandbox.Session
---@param verb "accept"|"reject"
---@param rows (sandbox.Row|sandbox.File)[]
function M.rows(session, verb, rows)
  M.enqueue(session, function()
    local decisions, paths = {}, {}
    for _, row in ipairs(rows) do
      add_paths(row, paths)
      local decision = { path = row.path }
      local file = session.file
      if file and file.path == row.path then
        decision.host, decision.sandbox = file.host.print, file.sandbox.print
      end
      table.insert(decisions, decision)
    end
    if #decisions == 0 or in_the_way(session, paths) then
      return
    end
    send(session, verb, { decisions = decisions })
  end)
end

---Decide on all that the panel lists.
---@param session sandbox.Session
---@param verb "accept"|"reject"
function M.all(session, verb)
  M.enqueue(session, function()
    local paths = {}
    for _, row in ipairs(session.list.files) do
      add_paths(row, paths)
    end
    if #session.list.files == 0 then
      message.info("nothing is left to decide")
    elseif not in_the_way(session, paths) then
      send(session, verb, { all = true, seq = session.list.seq })
    end
  end)
end

---Take back the newest decision of this editor.
---@param session sandbox.Session
function M.undo(session)
  M.enqueue(session, function()
    local paths = {}
    local last = session.decided[#session.decided]
    for _, decision in ipairs(last and last.arguments.decisions or {}) do
      paths[decision.path] = true
    end
    if not in_the_way(session, paths) then
      send(session, "undo", {})
    end
  end)
end

---Repeat the decision that was undone last.
---@param session sandbox.Session
function M.redo(session)
  M.enqueue(session, function()
    local decision = table.remove(session.undone)
    if not decision then
      message.info("nothing was undone")
      return
    end
    local arguments = vim.deepcopy(decision.arguments)
    if arguments.all then
      arguments.seq = session.list.seq
    end
    send(session, decision.verb, arguments, "redo")
  end)
end

return M
