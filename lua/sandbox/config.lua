---The options, as the user left them in `vim.g.sandbox`.
local M = {}

---@class sandbox.Options
---@field bin? string path of the `sandbox` binary
---@field net? string network of new sandboxes: "none" or "host"
---@field panel_width? integer columns of the file panel
---@field keys? boolean set the keys of the review (the <Plug> maps are there either way)

---@type sandbox.Options
local defaults = {
  panel_width = 32,
  keys = true,
}

---@type table<string, string>
local types = { bin = "string", net = "string", panel_width = "number", keys = "boolean" }

---@return sandbox.Options
function M.get()
  local given = vim.g.sandbox
  return vim.tbl_extend("force", defaults, type(given) == "table" and given or {})
end

---What is wrong with the options, one sentence each.
---@return string[]
function M.problems()
  local given = vim.g.sandbox
  if given == nil then
    return {}
  end
  if type(given) ~= "table" then
    return { "vim.g.sandbox must be a table" }
  end
  local found = {}
  for key, value in pairs(given) do
    if not types[key] then
      table.insert(found, ("vim.g.sandbox.%s is no option"):format(key))
    elseif type(value) ~= types[key] then
      table.insert(found, ("vim.g.sandbox.%s must be a %s"):format(key, types[key]))
    end
  end
  table.sort(found)
  return found
end

return M
