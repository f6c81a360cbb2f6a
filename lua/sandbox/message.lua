---What the user is told, once and in one line.
local M = {}

---Text of foreign origin (file names, errors about them) made harmless for the screen: no control
---characters, and no characters that reorder the line.
---@param text string
---@return string
function M.clean(text)
  text = vim.fn.strtrans((text:gsub("[\r\n\t]", " ")))
  -- U+200E/F, U+202A-E and U+2066-9 change the direction of the text around them.
  text = text:gsub("\226\128[\142\143\170-\174]", "?"):gsub("\226\129[\166-\169]", "?")
  return text
end

---@param text string
---@return string
local function fit(text)
  local room = math.max(vim.v.echospace - 1, 20)
  if vim.fn.strdisplaywidth(text) <= room then
    return text
  end
  local cut = vim.fn.strcharpart(text, 0, room - 1)
  while vim.fn.strdisplaywidth(cut) > room - 1 do
    cut = vim.fn.strcharpart(cut, 0, vim.fn.strchars(cut) - 1)
  end
  return cut .. "…"
end

---@return boolean
local function own_notify()
  return debug.getinfo(vim.notify, "S").source:find("vim/_", 1, true) == nil
end

---A line that is too long for the screen would stop everything at a prompt: it is cut on the screen,
---and whole in :messages.
---@param text string
---@param level integer
---@param highlight? string
local function show(text, level, highlight)
  text = "sandbox: " .. M.clean(text)
  if own_notify() then
    vim.notify(text, level)
    return
  end
  local short = fit(text)
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
