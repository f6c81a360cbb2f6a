---Run programs in a copy-on-write view of this machine, and review what they changed.
---
---Nothing needs to be called: the commands work without `setup()`.
local M = {}

---Set the options: the same as assigning to `vim.g.sandbox`.
---@param options? sandbox.Options
function M.setup(options)
  vim.g.sandbox = options or {}
end

---Open the review of a sandbox.
---@param name? string the one that has changes below the working directory when left out
function M.review(name)
  require("sandbox.review").open(name)
end

---Run a command in this project's sandbox, in a terminal.
---@param arguments? string[] options of `sandbox`, then the command; $SHELL when left out
---@param new? boolean in a new sandbox
function M.run(arguments, new)
  require("sandbox.run").start(arguments or {}, { new = new })
end

return M
