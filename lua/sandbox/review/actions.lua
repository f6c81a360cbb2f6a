---What the keys do: finds what the cursor means, and hands it on.
local blocks = require("sandbox.review.blocks")
local decide = require("sandbox.review.decide")
local message = require("sandbox.message")
local pair = require("sandbox.review.pair")
local panel = require("sandbox.review.panel")
local sessions = require("sandbox.review.session")

local M = {}

---@return sandbox.Session?
local function here()
  local session = sessions.in_tab()
  if not session or not sessions.alive(session) then
    message.error("this is no review; open one with :SandboxReview")
    return
  end
  return session
end

---The selected lines in visual mode, which is left; nil in other modes.
---@return integer? first
---@return integer? last
local function visual_range()
  local mode = vim.fn.mode()
  if not (mode == "v" or mode == "V" or mode == "\22") then
    return
  end
  local a, b = vim.fn.line("v"), vim.fn.line(".")
  vim.api.nvim_feedkeys(vim.keycode("<Esc>"), "nx", false)
  return math.min(a, b), math.max(a, b)
end

local decide_block

---@param verb "accept"|"reject"
function decide_block(verb)
  local session = here()
  if not session then
    return
  end
  local side = sessions.side_of(session)
  if not side or not session.file then
    message.error("go to one of the text windows to decide on a block")
    return
  end
  local first, last = visual_range()
  if not first and session.busy and #session.queue > 0 then
    -- A move typed before this key still waits: the block is the one that it will lead to.
    decide.enqueue(session, function()
      decide_block(verb)
    end)
    return
  end
  local indices
  if first and not session.file.placeholder then
    indices = blocks.touched(
      session.file.hunks,
      side,
      first,
      last --[[@as integer]],
      vim.api.nvim_buf_line_count(session.bufs[side])
    )
  else
    pair.refresh(session)
    indices = { session.selected }
  end
  if #indices == 0 then
    message.warn("no block is under the cursor")
    return
  end
  local obstacle = not session.busy and pair.obstacle(session)
  if obstacle then
    message.error(obstacle.long)
    return
  end
  decide.blocks(session, verb, indices)
end

---@param verb "accept"|"reject"
local function decide_file(verb)
  local session = here()
  if not session then
    return
  end
  if vim.api.nvim_get_current_win() == session.wins.panel then
    local first, last = visual_range()
    local line = vim.api.nvim_win_get_cursor(0)[1]
    local rows = panel.rows(session, first or line, last or line)
    if #rows == 0 then
      message.warn("no file is under the cursor")
      return
    end
    decide.rows(session, verb, rows)
    return
  end
  visual_range()
  if not session.file or session.file.kind == "" then
    message.warn("nothing is left to decide in this file")
    return
  end
  decide.rows(session, verb, { session.file })
end

function M.accept_block()
  decide_block("accept")
end

function M.reject_block()
  decide_block("reject")
end

function M.accept_file()
  decide_file("accept")
end

function M.reject_file()
  decide_file("reject")
end

function M.accept_all()
  local session = here()
  if session then
    decide.all(session, "accept")
  end
end

function M.reject_all()
  local session = here()
  if session then
    decide.all(session, "reject")
  end
end

function M.undo()
  local session = here()
  if session then
    decide.undo(session)
  end
end

function M.redo()
  local session = here()
  if session then
    decide.redo(session)
  end
end

function M.refresh()
  local session = here()
  if session then
    decide.refresh(session)
  end
end

---The next or previous row that can be opened.
---@param session sandbox.Session
---@param step 1|-1
---@return sandbox.Row?
local function neighbour(session, step)
  local files = session.list.files
  local path = session.file and session.file.path
  for i, row in ipairs(files) do
    if row.path == path then
      return files[i + step]
    end
  end
  -- The file that is shown has left the list: go on from where it was.
  if step > 0 then
    for _, row in ipairs(files) do
      if path and row.path > path then
        return row
      end
    end
  else
    for i = #files, 1, -1 do
      if path and files[i].path < path then
        return files[i]
      end
    end
  end
  return nil
end

---@param session sandbox.Session
---@param step 1|-1
---@param which "first"|"last"
local function go_file(session, step, which)
  local row = neighbour(session, step)
  if row then
    require("sandbox.review").show(session, row.path, { select = which })
  else
    message.info(step > 0 and "this is the last file" or "this is the first file")
  end
end

---@param session sandbox.Session
---@param step 1|-1
local function go_block(session, step)
  if not session.file then
    return
  end
  local side = sessions.side_of(session) or "sandbox"
  local win = session.wins[side]
  pair.refresh(session)
  local target
  if session.file.placeholder then
    local index = (session.selected or 0) + step
    target = session.file.hunks[index] and index
  else
    target = blocks.step(
      session.file.hunks,
      side,
      vim.api.nvim_win_get_cursor(win)[1],
      vim.api.nvim_buf_line_count(session.bufs[side]),
      session.selected,
      step
    )
  end
  if target then
    vim.cmd("normal! m'")
    pair.jump(session, target)
  else
    go_file(session, step, step > 0 and "first" or "last")
  end
end

---A move that waits for what is under way, so that keys typed ahead mean what they would mean then.
---@param move fun(session: sandbox.Session)
local function go(move)
  local session = here()
  if session then
    decide.enqueue(session, function()
      if sessions.alive(session) then
        move(session)
      end
    end)
  end
end

function M.next_file()
  go(function(session)
    go_file(session, 1, "first")
  end)
end

function M.prev_file()
  go(function(session)
    go_file(session, -1, "first")
  end)
end

function M.next_block()
  go(function(session)
    go_block(session, 1)
  end)
end

function M.prev_block()
  go(function(session)
    go_block(session, -1)
  end)
end

---<CR> in the panel.
function M.open()
  local session = here()
  local means = session and panel.at_cursor(session)
  if not session or not means then
    return
  end
  if means.row then
    require("sandbox.review").show(session, means.row.path, { select = "first", focus = true })
  elseif means.outside then
    session.all = not session.all
    decide.refresh(session)
  elseif means.ignored then
    session.ignored = not session.ignored
    decide.refresh(session)
  end
end

---`i` in the panel.
function M.toggle_tree()
  local session = here()
  if session then
    session.flat = not session.flat
    panel.render(session)
  end
end

function M.toggle_layout()
  local session = here()
  if session then
    require("sandbox.review.layout").toggle(session)
    pair.refresh(session)
  end
end

---The help, also where nobody made its tags.
function M.help()
  local tag = "sandbox-review-keys"
  if pcall(vim.cmd.help, tag) then
    return
  end
  vim.cmd.sview(vim.fn.fnameescape(require("sandbox.bin").root() .. "/doc/sandbox.txt"))
  vim.bo.buftype, vim.bo.modifiable, vim.bo.buflisted = "help", false, false
  vim.fn.search(("\\*%s\\*"):format(tag))
  vim.cmd("normal! zt")
end

function M.close()
  local session = here()
  if session then
    require("sandbox.review").close(session)
  end
end

return M
