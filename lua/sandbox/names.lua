---Names of sandboxes, for completion.
local rpc = require("sandbox.rpc")

local M = {}

---Completion cannot be asynchronous; it gives up quickly rather than holding up the command line.
local PATIENCE = 500

---@param lead string
---@return string[]
function M.complete(lead)
  local err, list = rpc.await("sandboxes", { counts = false }, PATIENCE)
  if err then
    return {}
  end
  local names = {}
  for _, sandbox in ipairs(list) do
    if vim.startswith(sandbox.name, lead) then
      table.insert(names, sandbox.name)
    end
  end
  table.sort(names)
  return names
end

return M
