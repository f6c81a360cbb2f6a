---Finds the `sandbox` binary.
local config = require("sandbox.config")

local M = {}

---The folder that this plugin lies in.
---@return string
function M.root()
  local here = debug.getinfo(1, "S").source:sub(2)
  return vim.fs.normalize(vim.fn.fnamemodify(here, ":p:h:h:h"))
end

---@return string? path
---@return sandbox.Error? err
function M.find()
  local configured = config.get().bin
  if configured then
    local path = vim.fn.expand(configured)
    if vim.fn.executable(path) == 1 then
      return path
    end
    return nil,
      {
        code = "no_binary",
        message = ("vim.g.sandbox.bin is %s, which cannot be run"):format(path),
        hint = "Set it to the sandbox binary, or leave it out.",
      }
  end
  local built = M.root() .. "/bin/sandbox"
  if vim.fn.executable(built) == 1 then
    return built
  end
  local found = vim.fn.exepath("sandbox")
  if found ~= "" then
    return found
  end
  return nil,
    {
      code = "no_binary",
      message = ("there is no sandbox binary: not in vim.g.sandbox.bin, not at %s, not in $PATH"):format(
        built
      ),
      hint = ("Build it with `make -C %s build`."):format(M.root()),
    }
end

return M
