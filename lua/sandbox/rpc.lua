---The line to the Go host: `sandbox rpc-host`, started on first use.
---
---One wish is one notification out; the host answers by calling |M.done| once. Only the handshake is
---a request that the editor waits for.
local bin = require("sandbox.bin")
local message = require("sandbox.message")

local M = {}

---@class sandbox.Error
---@field code string stable name of the kind of failure
---@field message string
---@field hint? string what to do next

---@alias sandbox.Callback fun(err: sandbox.Error?, result: any)

---Must equal Protocol in rplugin/serve.go.
local PROTOCOL = 1

---@type integer?
local channel
---@type table<integer, sandbox.Callback>
local pending = {}
local last_id = 0
---@type string[] the newest lines that the host wrote to stderr
local log = {}
---@type table<string, fun(event: table)[]>
local listeners = {}

---@param callback function
local function guarded(callback, ...)
  -- The caller is the host, which has no use for an error of ours.
  local ok, err = xpcall(callback, debug.traceback, ...)
  if not ok then
    message.error({ code = "internal", message = "internal error: " .. tostring(err) })
  end
end

---Windows cannot be changed from the command-line window: wait until it is left.
---@param callback function
local function when_free(callback, ...)
  if vim.fn.getcmdwintype() == "" then
    guarded(callback, ...)
    return
  end
  local arguments = { n = select("#", ...), ... }
  vim.api.nvim_create_autocmd("CmdwinLeave", {
    once = true,
    callback = function()
      vim.schedule(function()
        guarded(callback, unpack(arguments, 1, arguments.n))
      end)
    end,
  })
end

---@param why sandbox.Error
local function fail_pending(why)
  local calls = pending
  pending = {}
  for _, callback in pairs(calls) do
    when_free(callback, why)
  end
end

---@param id integer
---@param code integer
local function on_exit(id, code)
  if channel ~= id then
    return
  end
  channel = nil
  if vim.v.exiting ~= vim.NIL then
    return
  end
  local last = log[#log]
  local err = {
    code = "host_died",
    message = ("the sandbox host process ended (exit code %d)%s"):format(code, last and ": " .. last or ""),
    hint = "Sandboxes keep running; the next command starts it again.",
  }
  if next(pending) then
    fail_pending(err)
  else
    message.error(err)
  end
end

---@return integer? channel
---@return sandbox.Error?
local function start()
  if channel then
    return channel
  end
  local path, err = bin.find()
  if not path then
    return nil, err
  end
  log = {}
  local ok, id = pcall(vim.fn.jobstart, { path, "rpc-host" }, {
    rpc = true,
    on_stderr = function(_, lines)
      for _, line in ipairs(lines) do
        if line ~= "" then
          table.insert(log, line)
        end
      end
      while #log > 100 do
        table.remove(log, 1)
      end
    end,
    on_exit = function(id, code)
      on_exit(id, code)
    end,
  })
  if not ok or id <= 0 then
    return nil,
      {
        code = "no_binary",
        message = ("%s cannot be started%s"):format(path, ok and "" or ": " .. tostring(id)),
        hint = "See :checkhealth sandbox.",
      }
  end
  local answered, hello = pcall(vim.rpcrequest, id, "hello")
  if not answered or type(hello) ~= "table" then
    vim.fn.jobstop(id)
    return nil,
      {
        code = "host_died",
        message = ("%s does not answer as a host for Neovim"):format(path),
        hint = "Build it again, and see :checkhealth sandbox.",
      }
  end
  if hello.protocol ~= PROTOCOL then
    vim.fn.jobstop(id)
    return nil,
      {
        code = "protocol",
        message = ("the plugin speaks protocol %d and %s speaks %s"):format(
          PROTOCOL,
          path,
          tostring(hello.protocol)
        ),
        hint = "Build the binary of this version of the plugin, and restart Neovim.",
      }
  end
  channel = id
  M.host = hello
  return channel
end

---What the host said in the handshake.
---@type { protocol: integer, version: string, storage: string, pid: integer, root: boolean }?
M.host = nil

---Start the host if it is not running.
---@return sandbox.Error?
function M.connect()
  local _, err = start()
  return err
end

---Ask for one thing. The callback runs once, with an error or a result.
---@param method string
---@param arguments table
---@param callback sandbox.Callback
function M.call(method, arguments, callback)
  local id, err = start()
  if not id then
    callback(err)
    return
  end
  last_id = last_id + 1
  local call_id = last_id
  pending[call_id] = callback
  local sent = pcall(vim.rpcnotify, id, "call", call_id, method, arguments)
  if not sent and pending[call_id] then
    -- It died just now and on_exit has not run yet. Nothing was carried out: try with a new one.
    pending[call_id] = nil
    if channel == id then
      channel = nil
    end
    id, err = start()
    if not id then
      callback(err)
      return
    end
    pending[call_id] = callback
    vim.rpcnotify(id, "call", call_id, method, arguments)
  end
end

---Ask, and wait for the answer while the editor stays alive. For :write, which must know before it returns.
---@param method string
---@param arguments table
---@param timeout integer milliseconds
---@return sandbox.Error? err
---@return any result
function M.await(method, arguments, timeout)
  local finished, err, result = false, nil, nil
  M.call(method, arguments, function(e, r)
    finished, err, result = true, e, r
  end)
  if not vim.wait(timeout, function()
    return finished
  end, 2) then
    return { code = "timeout", message = method .. ": no answer yet" }
  end
  return err, result
end

---Called by the host: the answer to one call.
---@param id integer
---@param err any
---@param result any
function M.done(id, err, result)
  local callback = pending[id]
  pending[id] = nil
  if not callback then
    return
  end
  if err == vim.NIL then
    err = nil
  end
  if result == vim.NIL then
    result = nil
  end
  when_free(callback, err, result)
end

---Called by the host: something happened that nobody asked for.
---@param event { kind: string, name?: string, text?: string }
function M.event(event)
  for _, listener in ipairs(listeners[event.kind] or {}) do
    when_free(listener, event)
  end
end

---@param kind string
---@param listener fun(event: table)
function M.on(kind, listener)
  listeners[kind] = listeners[kind] or {}
  table.insert(listeners[kind], listener)
end

---The newest lines that the host wrote to stderr.
---@return string[]
function M.log()
  return vim.deepcopy(log)
end

---End the host; the next call starts it again.
function M.stop()
  local id = channel
  if not id then
    return
  end
  channel = nil
  fail_pending({ code = "host_died", message = "the sandbox host process was stopped" })
  vim.fn.jobstop(id)
end

M.on("notice", function(event)
  message.warn(event.text)
end)

return M
