---:SandboxRun
local arguments = require("sandbox.arguments")
local bin = require("sandbox.bin")
local config = require("sandbox.config")
local message = require("sandbox.message")
local rpc = require("sandbox.rpc")
local terminal = require("sandbox.terminal")

local M = {}

---@param binary string
---@param name string
---@param parsed sandbox.Arguments
---@return string[]
local function command_line(binary, name, parsed)
  local out = { binary }
  if not parsed.name then
    vim.list_extend(out, { "--name", name })
  end
  local net = config.get().net
  if net and not parsed.net then
    table.insert(out, "--net=" .. net)
  end
  vim.list_extend(out, parsed.options)
  if #parsed.command > 0 then
    table.insert(out, "--")
    vim.list_extend(out, parsed.command)
  end
  return out
end

---@param words string[] options of `sandbox`, then the command
---@param options { new?: boolean, mods?: table }
function M.start(words, options)
  local binary, err = bin.find()
  if not binary then
    message.error(err --[[@as sandbox.Error]])
    return
  end
  local parsed = arguments.parse(words)
  local dir = vim.fs.normalize(vim.fn.getcwd())
  local function run(name)
    terminal.open({
      name = name,
      command = command_line(binary, name, parsed),
      cwd = dir,
      title = #parsed.command > 0 and table.concat(parsed.command, " ") or vim.fs.basename(vim.o.shell),
      mods = options.mods,
    })
  end
  if parsed.name and parsed.name ~= "" then
    run(parsed.name)
    return
  end
  rpc.call("project_name", { dir = dir, new = options.new or false }, function(failure, answer)
    if failure then
      message.error(failure)
    else
      run(answer.name)
    end
  end)
end

---@param command table what |nvim_create_user_command()| gives
function M.command(command)
  M.start(arguments.split(command.args), { new = command.bang, mods = command.smods })
end

---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local before = line:sub(1, position - #lead)
  if before:match("%-%-name%s+$") then
    return require("sandbox.names").complete(lead)
  end
  if vim.startswith(lead, "-") then
    return vim.tbl_filter(function(option)
      return vim.startswith(option, lead)
    end, arguments.options)
  end
  local words = vim.split(vim.trim(before), "%s+")
  for i = 2, #words do
    if not vim.startswith(words[i], "-") then
      return vim.fn.getcompletion(lead, "file")
    end
  end
  return vim.fn.getcompletion(lead, "shellcmd")
end

return M
