---A terminal buffer for a command, in every version of Neovim that is supported.
local message = require("sandbox.message")

local M = {}

---@class sandbox.TerminalOptions
---@field name string of the sandbox
---@field command string[]
---@field cwd string
---@field title string
---@field mods? table window modifiers of the command line, as in |nvim_parse_cmd()|

---Lines that a terminal keeps. Agents are talkative.
local SCROLLBACK = 50000

---@param mods table?
local function split(mods)
  -- The job is started in a window of the right size: a program reads it once.
  vim.cmd.new({ mods = mods or {} })
  vim.bo.bufhidden = "hide"
end

---@param options sandbox.TerminalOptions
---@return integer? buf
function M.open(options)
  split(options.mods)
  local buf = vim.api.nvim_get_current_buf()
  local job = {
    cwd = options.cwd,
    on_exit = function(_, code)
      if vim.api.nvim_buf_is_valid(buf) then
        local info = vim.b[buf].sandbox
        info.exit_code = code
        vim.b[buf].sandbox = info
      end
    end,
  }
  local ok, id
  if vim.fn.has("nvim-0.11") == 1 then
    job.term = true
    ok, id = pcall(vim.fn.jobstart, options.command, job)
  else
    ok, id = pcall(vim.fn.termopen, options.command, job)
  end
  if not ok or id <= 0 then
    vim.api.nvim_buf_delete(buf, { force = true })
    message.error({
      code = "failed",
      message = ("%s cannot be started%s"):format(options.command[1], ok and "" or ": " .. tostring(id)),
      hint = "See :checkhealth sandbox.",
    })
    return
  end
  vim.b[buf].sandbox = { name = options.name, title = options.title, job = id }
  vim.bo[buf].scrollback = SCROLLBACK
  local title = ("sandbox-term://%s/%d %s"):format(options.name, id, options.title)
  pcall(vim.api.nvim_buf_set_name, buf, title)
  vim.cmd.startinsert()
  return buf
end

return M
