---What a review takes from the user for a while, and gives back exactly: global options, options of a
---window, maps of a buffer.
local M = {}

---@class sandbox.Borrowed
---@field globals table<string, any>
---@field windows table<integer, table<string, any>>
---@field maps table<integer, table[]> by buffer: {mode, lhs, old map or false}
local Borrowed = {}
Borrowed.__index = Borrowed

---@return sandbox.Borrowed
function M.new()
  return setmetatable({ globals = {}, windows = {}, maps = {} }, Borrowed)
end

---@param values table<string, any>
function Borrowed:set_globals(values)
  for name, value in pairs(values) do
    if self.globals[name] == nil then
      self.globals[name] = vim.api.nvim_get_option_value(name, { scope = "global" })
    end
    vim.api.nvim_set_option_value(name, value, { scope = "global" })
  end
end

function Borrowed:restore_globals()
  for name, value in pairs(self.globals) do
    vim.api.nvim_set_option_value(name, value, { scope = "global" })
  end
  self.globals = {}
end

---@param win integer
---@param values table<string, any>
function Borrowed:set_window(win, values)
  local saved = self.windows[win] or {}
  self.windows[win] = saved
  for name, value in pairs(values) do
    if saved[name] == nil then
      saved[name] = vim.wo[win][0][name]
    end
    vim.wo[win][0][name] = value
  end
end

---@param win integer
function Borrowed:restore_window(win)
  local saved = self.windows[win]
  self.windows[win] = nil
  if not saved or not vim.api.nvim_win_is_valid(win) then
    return
  end
  for name, value in pairs(saved) do
    vim.wo[win][0][name] = value
  end
end

---@param buf integer
---@param mode string
---@param lhs string
---@return table|false
local function buffer_map(buf, mode, lhs)
  return vim.api.nvim_buf_call(buf, function()
    local map = vim.fn.maparg(lhs, mode, false, true)
    return map.buffer == 1 and map or false
  end)
end

---@param buf integer
---@param maps { mode: string, lhs: string, rhs: string, desc: string }[]
function Borrowed:set_maps(buf, maps)
  if self.maps[buf] then
    return
  end
  self.maps[buf] = {}
  for _, map in ipairs(maps) do
    table.insert(self.maps[buf], { map.mode, map.lhs, buffer_map(buf, map.mode, map.lhs) })
    vim.keymap.set(map.mode, map.lhs, map.rhs, { buffer = buf, desc = map.desc, nowait = true })
  end
end

---@param buf integer
function Borrowed:restore_maps(buf)
  local saved = self.maps[buf]
  self.maps[buf] = nil
  if not saved or not vim.api.nvim_buf_is_valid(buf) then
    return
  end
  for _, entry in ipairs(saved) do
    local mode, lhs, old = entry[1], entry[2], entry[3]
    pcall(vim.keymap.del, mode, lhs, { buffer = buf })
    if old then
      vim.api.nvim_buf_call(buf, function()
        vim.fn.mapset(mode, false, old)
      end)
    end
  end
end

function Borrowed:restore_all_maps()
  for buf in pairs(self.maps) do
    self:restore_maps(buf)
  end
end

return M
