---Marks the block that the next decision is about, in both windows, and shows what diff mode is blind
---to: changes of mode, line ends, byte order mark and the end of the file.
local blocks = require("sandbox.review.blocks")
local message = require("sandbox.message")

local M = {}

local namespace = vim.api.nvim_create_namespace("sandbox.review")

---Signs on more lines than this say nothing new and take time.
local MAX_SIGNS = 2000

---@param buf integer
---@param line integer counted from 0
---@param options table
local function place(buf, line, options)
  local last = vim.api.nvim_buf_line_count(buf) - 1
  vim.api.nvim_buf_set_extmark(buf, namespace, math.max(0, math.min(line, last)), 0, options)
end

---@param buf integer
---@param start integer
---@param count integer
local function mark_lines(buf, start, count)
  if count == 0 then
    -- The block has no line here; the sign points at the gap.
    local above = start == 0
    place(
      buf,
      above and 0 or start - 1,
      { sign_text = above and "▔" or "▁", sign_hl_group = "SandboxBlockSign" }
    )
    return
  end
  for line = start, start + math.min(count, MAX_SIGNS) - 1 do
    place(buf, line - 1, {
      sign_text = "▌",
      sign_hl_group = "SandboxBlockSign",
      number_hl_group = "SandboxBlock",
      priority = 200,
    })
  end
end

---The virtual lines of the attribute blocks. Both windows get the same number, so that the pair stays
---level.
---@param session sandbox.Session
---@param side sandbox.SideName
---@param buf integer
local function attributes(session, side, buf)
  local top, bottom = {}, {}
  for i, hunk in ipairs(session.file.hunks) do
    if blocks.is_attribute(hunk) then
      local selected = i == session.selected
      local line = {
        { selected and "▌" or " ", "SandboxBlockSign" },
        {
          (" %s: %s "):format(blocks.describe(hunk):match("^[^:]*"), message.clean(blocks.value(hunk, side))),
          selected and "SandboxBlock" or "SandboxAttribute",
        },
      }
      table.insert(hunk.kind == "final_newline" and bottom or top, line)
    end
  end
  if #top > 0 then
    place(buf, 0, { virt_lines = top, virt_lines_above = true })
  end
  if #bottom > 0 then
    place(buf, vim.api.nvim_buf_line_count(buf) - 1, { virt_lines = bottom })
  end
end

---@param buf? integer
function M.clear(buf)
  if buf and vim.api.nvim_buf_is_valid(buf) then
    vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  end
end

---What was drawn last, by session. The cursor moves much more often than anything else does.
---@type table<sandbox.Session, string>
local drawn = setmetatable({}, { __mode = "k" })

---@param session sandbox.Session
---@param synced boolean
---@return string
local function state(session, synced)
  local parts = { tostring(session.file), tostring(session.selected), tostring(synced) }
  for _, side in ipairs({ "host", "sandbox" }) do
    local buf = session.bufs[side]
    table.insert(parts, buf .. "." .. vim.api.nvim_buf_get_changedtick(buf))
  end
  return table.concat(parts, " ")
end

---@param session sandbox.Session
---@param synced boolean whether the windows show what the engine compared
function M.draw(session, synced)
  local now = state(session, synced)
  if drawn[session] == now then
    return
  end
  drawn[session] = now
  for _, side in ipairs({ "host", "sandbox" }) do
    local buf = session.bufs[side]
    M.clear(buf)
    if buf and session.file and synced and not session.file.placeholder then
      attributes(session, side, buf)
      local hunk = session.selected and session.file.hunks[session.selected]
      if hunk and not blocks.is_attribute(hunk) then
        mark_lines(buf, hunk[side][1], hunk[side][2])
      end
    end
  end
end

---Virtual lines above the first line are scrolled out unless asked for.
---@param win integer
---@param count integer
local function scroll_in(win, count)
  vim.api.nvim_win_call(win, function()
    local view = vim.fn.winsaveview()
    local fill = count + vim.fn.diff_filler(1)
    if view.topline == 1 and view.topfill ~= fill then
      vim.fn.winrestview({ topfill = fill })
    end
  end)
end

---How many lines stand above the first line of both windows.
---@param session sandbox.Session
---@return integer
local function above(session)
  local n = 0
  for _, hunk in ipairs(session.file and not session.file.placeholder and session.file.hunks or {}) do
    if blocks.is_attribute(hunk) and hunk.kind ~= "final_newline" then
      n = n + 1
    end
  end
  return n
end

---Show the lines above the first line, in both windows.
---@param session sandbox.Session
function M.show_above(session)
  local count = above(session)
  if count > 0 then
    scroll_in(session.wins.host, count)
    scroll_in(session.wins.sandbox, count)
  end
end

---Scroll binding knows nothing of virtual lines: keep the other window level with the current one.
---@param session sandbox.Session
---@param current integer
function M.keep_level(session, current)
  local count = above(session)
  if count == 0 then
    return
  end
  local view = vim.api.nvim_win_call(current, vim.fn.winsaveview)
  if view.topline == 1 and view.topfill >= count then
    M.show_above(session)
  end
end

return M
