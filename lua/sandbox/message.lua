---What the user is told, once and in one line.
local M = {}

---Text of foreign origin (file names, errors about them) made harmless for the screen: no control
---characters, and none that change the direction of the text around them.
---@param text string
---@return string
function M.clean(text)
  if not text:find("[^\32-\126]") then
    return text
  end
  return vim.fn.strtrans((text:gsub("[\r\n\t]", " ")))
end

---The columns of a text that was made clean.
---@param text string
---@return integer
function M.width(text)
  return text:find("[^\32-\126]") and vim.fn.strdisplaywidth(text) or #text
end

---The beginning of a text that is too long for its room.
---@param text string
---@param room integer columns
---@return string
function M.fit(text, room)
  if M.width(text) <= room then
    return text
  end
  local cut = vim.fn.strcharpart(text, 0, math.max(room - 1, 0))
  while cut ~= "" and vim.fn.strdisplaywidth(cut) > room - 1 do
    cut = vim.fn.strcharpart(cut, 0, vim.fn.strchars(cut) - 1)
  end
  return cut .. "…"
end

---Whether the user put something else in the place of |vim.notify()|.
---@return boolean
local function own_notify()
  -- Neovim's own is "@vim/_editor.lua", or has no source at all where it was compiled in.
  local source = debug.getinfo(vim.notify, "S").source
  return vim.startswith(source, "@") and not vim.startswith(source, "@vim/_")
end

---A line that is too long for the screen would stop everything at a prompt: it is cut on the screen,
---and whole in :messages.
---@param text string
---@param level integer
---@param highlight? string
local function show(text, level, highlight)
  -- Paths of the project are long, and the user knows where he is.
  local here = vim.fn.getcwd() .. "/"
  local at = text:find(here, 1, true)
  if at then
    text = text:sub(1, at - 1) .. text:sub(at + #here)
  end
  text = "sandbox: " .. M.clean(text)
  if own_notify() then
    vim.notify(text, level)
    return
  end
  local short = M.fit(text, math.max(vim.v.echospace - 1, 20))
  if short ~= text then
    vim.cmd("silent echomsg " .. vim.fn.string(text))
  end
  vim.api.nvim_echo({ { short, highlight } }, short == text, {})
end

---@param text string
function M.info(text)
  show(text, vim.log.levels.INFO)
end

---@param text string
function M.warn(text)
  show(text, vim.log.levels.WARN, "WarningMsg")
end

---@param err sandbox.Error|string
function M.error(err)
  if type(err) == "string" then
    show(err, vim.log.levels.ERROR, "ErrorMsg")
    return
  end
  local text = err.message
  if err.hint and err.hint ~= "" then
    text = text .. ". " .. err.hint
  end
  show(text, vim.log.levels.ERROR, "ErrorMsg")
end

return M
