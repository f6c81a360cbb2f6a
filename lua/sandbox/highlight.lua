---The highlight groups, all linked to groups that every colour scheme has.
local M = {}

---@type table<string, string>
local links = {
  SandboxAdded = "Added",
  SandboxChanged = "Changed",
  SandboxRemoved = "Removed",
  SandboxDirectory = "Directory",
  SandboxTitle = "Title",
  SandboxCount = "Comment",
  SandboxSensitive = "WarningMsg",
  SandboxConflict = "ErrorMsg",
  SandboxBlock = "IncSearch",
  SandboxBlockSign = "Special",
  SandboxAttribute = "DiffChange",
  SandboxNote = "Comment",
}

---`default` leaves a group alone that the user or a colour scheme defines.
function M.define()
  for group, target in pairs(links) do
    vim.api.nvim_set_hl(0, group, { link = target, default = true })
  end
end

return M
