---Splits what follows :SandboxRun into the options of `sandbox` and the command.
local M = {}

---@class sandbox.Arguments
---@field options string[] as given
---@field command string[]
---@field name? string of --name
---@field net? string of --net; "host" when it stands alone
---@field separator boolean whether `--` stood before the command

---Options that take the next word as their value when it is not joined by `=`.
local with_value = {
  ["--name"] = true,
  ["--storage-dir"] = true,
  ["--config"] = true,
  ["--bind"] = true,
  ["--mask"] = true,
  ["--log-level"] = true,
}

---The options, for completion.
M.options =
  { "--name", "--net=none", "--net=host", "--storage-dir", "--no-config", "--config", "--new", "--rm" }

---Splits a command line into words as a shell does: 'one word', "one word", one\ word. Nothing is expanded.
---@param line string
---@return string[]
function M.split(line)
  local words, word, quote = {}, nil, nil
  local i = 1
  while i <= #line do
    local c = line:sub(i, i)
    if quote == "'" then
      if c == "'" then
        quote = nil
      else
        word = word .. c
      end
    elseif c == "\\" and i < #line then
      local following = line:sub(i + 1, i + 1)
      -- Between double quotes a backslash is one, but before a quote or another backslash.
      if quote and not following:find('["\\]') then
        word = word .. c
      else
        i = i + 1
        word = (word or "") .. following
      end
    elseif quote then
      if c == quote then
        quote = nil
      else
        word = word .. c
      end
    elseif c == "'" or c == '"' then
      quote, word = c, word or ""
    elseif c:find("%s") then
      table.insert(words, word)
      word = nil
    else
      word = (word or "") .. c
    end
    i = i + 1
  end
  table.insert(words, word)
  return words
end

---@param words string[]
---@return sandbox.Arguments
function M.parse(words)
  local out = { options = {}, command = {}, separator = false }
  local i = 1
  while i <= #words do
    local word = words[i]
    if word == "--" then
      out.separator = true
      i = i + 1
      break
    elseif word:sub(1, 1) ~= "-" or word == "-" then
      break
    end
    table.insert(out.options, word)
    local option, value = word:match("^(%-%-[^=]+)=(.*)$")
    option = option or word
    if not value and with_value[option] and words[i + 1] then
      i = i + 1
      value = words[i]
      table.insert(out.options, value)
    end
    if option == "--name" then
      out.name = value
    elseif option == "--net" then
      out.net = value or "host"
    end
    i = i + 1
  end
  out.command = vim.list_slice(words, i)
  return out
end

return M
