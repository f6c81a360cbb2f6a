---The line above each window of the pair: which file, which block, and what is in the way.
local blocks = require("sandbox.review.blocks")
local message = require("sandbox.message")
local sessions = require("sandbox.review.session")

local M = {}

---@param text string
---@return string
local function escape(text)
  return (message.clean(text):gsub("%%", "%%%%"))
end

---Which block, and in words what it is when no lines show it.
---@param session sandbox.Session
---@return string position
---@return string? description
local function position(session)
  local file = session.file
  local n = #file.hunks
  if n == 0 then
    return file.kind == "" and "nothing left" or "no blocks"
  end
  local i = session.selected
  if not i then
    return n == 1 and "1 block" or n .. " blocks"
  end
  local hunk = file.hunks[i]
  return ("block %d/%d"):format(i, n), hunk.kind ~= "lines" and blocks.describe(hunk) or nil
end

---The end of a path that is too long for its room.
---@param path string
---@param room integer
---@return string
local function shorten(path, room)
  path = message.clean(path)
  local cut = path
  while vim.fn.strdisplaywidth(cut) > math.max(room, 10) do
    cut = vim.fn.strcharpart(cut, 2)
  end
  return cut == path and path or "…" .. cut
end

---@param win integer
---@param text string
local function set(win, text)
  if vim.wo[win].winbar ~= text then
    vim.wo[win][0].winbar = text
  end
end

---@param session sandbox.Session
---@param obstacle? string why no block can be decided on now
function M.draw(session, obstacle)
  local file = session.file
  local wins = session.wins
  if not file then
    set(wins.host, " host")
    set(wins.sandbox, " " .. escape(session.name))
    return
  end
  local where, description = position(session)
  ---@type { [1]: string, [2]: string }[]
  local notes = {}
  if obstacle then
    table.insert(notes, { obstacle, "SandboxSensitive" })
  end
  local hunk = session.selected and file.hunks[session.selected]
  if hunk and hunk.conflict then
    table.insert(notes, { "conflict with host", "SandboxConflict" })
  elseif file.conflict then
    table.insert(notes, { "host changed too", "SandboxConflict" })
  end
  if description then
    table.insert(notes, { description, "SandboxNote" })
  end
  if file.sensitive then
    table.insert(notes, { "⚠ " .. file.sensitive.reason, "SandboxSensitive" })
  end
  local host =
    shorten(sessions.relative(session, file.from or file.path), vim.api.nvim_win_get_width(wins.host) - 8)
  -- The file and the number of the block are always there; the notes take what room is left.
  local width = vim.api.nvim_win_get_width(wins.sandbox)
  local room = width - vim.fn.strdisplaywidth(session.name) - #where - 5
  local sandbox = shorten(sessions.relative(session, file.path), room)
  room = room - vim.fn.strdisplaywidth(sandbox)
  local tail = ""
  for _, note in ipairs(notes) do
    local text = message.fit(message.clean(note[1]), room - 3)
    if room < 8 then
      break
    end
    room = room - vim.fn.strdisplaywidth(text) - 3
    tail = ("%s%%#%s#%s%%* · "):format(tail, note[2], escape(text))
  end
  set(wins.host, "%#SandboxTitle# host%*  " .. escape(host))
  set(
    wins.sandbox,
    ("%%#SandboxTitle# %s%%*  %s%%=%s%s "):format(escape(session.name), escape(sandbox), tail, where)
  )
end

return M
