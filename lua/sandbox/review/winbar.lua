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

---@param session sandbox.Session
---@return string
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
  local text = ("block %d/%d"):format(i, n)
  if hunk.kind ~= "lines" then
    text = text .. " · " .. blocks.describe(hunk)
  end
  return text
end

---@param session sandbox.Session
---@param obstacle? string why no block can be decided on now
function M.draw(session, obstacle)
  local file = session.file
  local wins = session.wins
  if not file then
    vim.wo[wins.host][0].winbar = " host"
    vim.wo[wins.sandbox][0].winbar = " " .. escape(session.name)
    return
  end
  local host = escape(sessions.relative(session, file.from or file.path))
  local sandbox = escape(sessions.relative(session, file.path))
  local notes = {}
  if file.conflict then
    table.insert(notes, "%#SandboxConflict#host changed too%*")
  end
  if file.sensitive then
    table.insert(notes, "%#SandboxSensitive#⚠ " .. escape(file.sensitive.reason) .. "%*")
  end
  if obstacle then
    table.insert(notes, "%#SandboxSensitive#" .. escape(obstacle) .. "%*")
  end
  table.insert(notes, escape(position(session)))
  vim.wo[wins.host][0].winbar = ("%%#SandboxTitle# host%%*  %%<%s"):format(host)
  vim.wo[wins.sandbox][0].winbar = ("%%#SandboxTitle# %s%%*  %%<%s%%=%s "):format(
    escape(session.name),
    sandbox,
    table.concat(notes, "  ")
  )
end

return M
