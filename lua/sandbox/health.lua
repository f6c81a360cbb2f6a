---:checkhealth sandbox
local bin = require("sandbox.bin")
local config = require("sandbox.config")
local rpc = require("sandbox.rpc")

local M = {}

local health = vim.health

local function check_editor()
  health.start("sandbox: editor")
  if vim.fn.has("nvim-0.10") == 0 then
    health.error("Neovim 0.10 or newer is needed")
  else
    health.ok("Neovim " .. tostring(vim.version()))
  end
  local problems = config.problems()
  for _, problem in ipairs(problems) do
    health.error(problem, "See :help sandbox-configuration.")
  end
  if #problems == 0 then
    health.ok("options are well-formed")
  end
end

local function check_binary()
  health.start("sandbox: binary")
  local path, err = bin.find()
  if not path then
    health.error(err.message, err.hint)
    return
  end
  health.ok("binary: " .. path)
  local failure = rpc.connect()
  if failure then
    health.error(failure.message, failure.hint)
    return
  end
  local host = rpc.host
  health.ok(("host process answers: version %s, protocol %d"):format(host.version, host.protocol))
  for _, line in ipairs(rpc.log()) do
    health.info("host wrote: " .. line)
  end
  health.start("sandbox: storage")
  local storage = host.storage
  local stat = storage ~= "" and vim.uv.fs_stat(storage)
  if storage == "" then
    health.info("the host did not name the storage directory")
  elseif not stat then
    health.info(storage .. " is not there yet; the first run makes it")
  elseif stat.type ~= "directory" then
    health.error(storage .. " is no directory", "Move it away, or set storage_dir.")
  elseif not vim.uv.fs_access(storage, "W") then
    health.error(storage .. " cannot be written to", "See who owns it.")
  else
    local err_list, list = rpc.await("sandboxes", { counts = false }, 3000)
    if err_list then
      health.warn(err_list.message, err_list.hint)
    else
      health.ok(("%s holds %d sandboxes"):format(storage, #list))
    end
  end
end

---What this machine can do is asked of the binary, which probes and does not guess.
local function check_machine()
  local path = bin.find()
  if not path then
    return
  end
  health.start("sandbox: machine")
  local ok, job = pcall(vim.system, { path, "doctor", "--json" }, { text = true })
  if not ok then
    health.error(tostring(job))
    return
  end
  local result = job:wait(10000)
  local decoded, report = pcall(vim.json.decode, result.stdout or "", { luanil = { object = true } })
  if not decoded or type(report) ~= "table" or type(report.checks) ~= "table" then
    health.error(("`%s doctor` gave no report (exit code %d)"):format(path, result.code), result.stderr)
    return
  end
  for _, row in ipairs(report.checks) do
    local text = row.check .. ": " .. (row.detail or "")
    if row.state == "ok" then
      health.ok(text)
    elseif row.state == "partly" then
      health.warn(text, row.hint)
    else
      health.error(text, row.hint)
    end
  end
end

function M.check()
  check_editor()
  check_binary()
  check_machine()
end

return M
