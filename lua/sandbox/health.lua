---:checkhealth sandbox
local bin = require("sandbox.bin")
local config = require("sandbox.config")
local rpc = require("sandbox.rpc")

local M = {}

local health = vim.health

---@param path string
---@return string?
local function first_line(path)
  local file = io.open(path, "r")
  if not file then
    return
  end
  local line = file:read("*l")
  file:close()
  return line
end

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

---The questions that decide whether an ordinary user can have a namespace. Each is one file of the kernel's.
local function check_kernel()
  health.start("sandbox: kernel")
  local release = vim.uv.os_uname().release
  local major, minor = release:match("^(%d+)%.(%d+)")
  if tonumber(major) < 5 or (tonumber(major) == 5 and tonumber(minor) < 11) then
    health.error("Linux " .. release, "Linux 5.11 or newer is needed for overlays of an ordinary user.")
  else
    health.ok("Linux " .. release)
  end
  local root = rpc.host and rpc.host.root
  if root then
    health.info("running as root: no user namespace is needed")
  else
    local found = false
    local function refuse(path, bad, advice)
      if first_line(path) == bad then
        found = true
        health.error(("%s is %s"):format(path, bad), advice)
      end
    end
    refuse("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1")
    refuse("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000")
    refuse(
      "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
      "1",
      "Allow it for this binary with an AppArmor profile, or set the sysctl to 0."
    )
    local result = vim
      .system({ "unshare", "--user", "--map-current-user", "true" }, { text = true })
      :wait(3000)
    if result.code == 0 then
      health.ok("user namespaces can be made")
    elseif not found then
      health.warn(
        "`unshare --user` failed: " .. vim.trim(result.stderr or ""),
        "See the README, section on what is needed."
      )
    end
  end
  local overlay = false
  for line in io.lines("/proc/filesystems") do
    overlay = overlay or line:match("%soverlay$") ~= nil
  end
  if overlay then
    health.ok("overlayfs is there")
  else
    health.warn("overlayfs is not loaded", "It may load by itself on first use; else: modprobe overlay")
  end
end

function M.check()
  check_editor()
  check_binary()
  check_kernel()
end

return M
