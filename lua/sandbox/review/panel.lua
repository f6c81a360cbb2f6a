---The file panel: what changed, as a tree or a list.
local message = require("sandbox.message")
local sessions = require("sandbox.review.session")

local M = {}

local namespace = vim.api.nvim_create_namespace("sandbox.panel")

---@class sandbox.PanelLine
---@field row? sandbox.Row
---@field directory? string absolute path; with a row, the row is that directory
---@field outside? boolean the folded rest
---@field ignored? boolean what ignore rules leave out

---@type table<string, string[]> sign and highlight of each kind
local signs = {
  added = { "+", "SandboxAdded" },
  modified = { "~", "SandboxChanged" },
  deleted = { "-", "SandboxRemoved" },
  renamed = { "R", "SandboxChanged" },
  type_changed = { "T", "SandboxChanged" },
  attributes = { "M", "SandboxChanged" },
}

---@param row sandbox.Row
---@return string
local function counts(row)
  local out = {}
  if row.added > 0 then
    table.insert(out, "+" .. row.added)
  end
  if row.removed > 0 then
    table.insert(out, "-" .. row.removed)
  end
  return table.concat(out, " ")
end

---What changed in a git repository, as much of it as there is room for.
---@param text string
---@param room integer
---@return string
local function summary(text, room)
  text = message.clean((text:gsub("^git: ", "")))
  if message.width(text) <= room then
    return text
  end
  return vim.fn.strcharpart(text, 0, math.max(room - 1, 0)) .. "…"
end

---@class sandbox.Piece
---@field [1] string text
---@field [2]? string highlight

---@param row sandbox.Row
---@param name string
---@param indent string
---@param width integer
---@return sandbox.Piece[]
local function row_pieces(row, name, indent, width)
  local sign = signs[row.kind] or { "?", "SandboxNote" }
  local pieces = { { indent }, { sign[1], sign[2] }, { " " } }
  local tail = {}
  if row.conflict then
    table.insert(tail, { " !", "SandboxConflict" })
  end
  if row.sensitive then
    table.insert(tail, { " ⚠", "SandboxSensitive" })
  end
  if row.ignored then
    table.insert(tail, { " ignored", "SandboxNote" })
  end
  local count = row.git and summary(row.git, width - message.width(indent) - 12) or counts(row)
  if count ~= "" then
    table.insert(tail, { " " .. count, "SandboxCount" })
  end
  local used = message.width(indent) + 2
  for _, piece in ipairs(tail) do
    used = used + message.width(piece[1])
  end
  name = message.clean(name)
  local room = math.max(width - used, 8)
  if message.width(name) > room then
    -- The end of a name says more than its beginning.
    while message.width(name) > room - 1 do
      name = vim.fn.strcharpart(name, 1)
    end
    name = "…" .. name
  end
  table.insert(pieces, { name, row.sandbox == "dir" and "SandboxDirectory" or nil })
  local gap = width - used - message.width(name)
  if #tail > 0 and gap > 0 then
    table.insert(pieces, { (" "):rep(gap) })
  end
  vim.list_extend(pieces, tail)
  return pieces
end

---@param session sandbox.Session
---@param row sandbox.Row
---@return string
local function full_name(session, row)
  local name = sessions.relative(session, row.path)
  if row.from then
    name = sessions.relative(session, row.from) .. " → " .. name
  end
  return name
end

---@param n integer
---@param word string
---@return string
local function plural(n, word)
  return n == 1 and "1 " .. word or ("%d %ss"):format(n, word)
end

---@param session sandbox.Session
---@return sandbox.Piece[][]
local function title(session)
  local list, decided = session.list, {}
  local files, directories = 0, 0
  for _, row in ipairs(list.files) do
    if row.host == "dir" or row.sandbox == "dir" then
      directories = directories + 1
    else
      files = files + 1
    end
  end
  local size = plural(files, "file")
  if directories > 0 then
    size = size .. (directories == 1 and " · 1 directory" or (" · %d directories"):format(directories))
  end
  for _, word in ipairs({ "accepted", "rejected" }) do
    if session.counts[word] > 0 then
      table.insert(decided, session.counts[word] .. " " .. word)
    end
  end
  return {
    { { " " .. session.name, "SandboxTitle" }, { list.running and " (running)" or "", "SandboxNote" } },
    { { " " .. size, "SandboxNote" } },
    { { " " .. table.concat(decided, " · "), "SandboxNote" } },
  }
end

---Whether a row is a directory whose entries follow it: then it heads them, so
---that no directory stands there twice.
---@param rows sandbox.Row[]
---@param i integer
---@return boolean
local function heads(rows, i)
  return rows[i + 1] ~= nil and vim.startswith(rows[i + 1].path, rows[i].path .. "/")
end

---@param session sandbox.Session
---@param row sandbox.Row
---@return sandbox.Piece[]
local function heading(session, row)
  local sign = signs[row.kind] or { "?", "SandboxNote" }
  local pieces = { { " ▾ ", "SandboxDirectory" }, { sign[1], sign[2] } }
  table.insert(pieces, { " " .. message.clean(full_name(session, row)) .. "/", "SandboxDirectory" })
  if row.conflict then
    table.insert(pieces, { " !", "SandboxConflict" })
  end
  if row.sensitive then
    table.insert(pieces, { " ⚠", "SandboxSensitive" })
  end
  return pieces
end

---@param session sandbox.Session
---@return sandbox.Piece[][] lines
---@return sandbox.PanelLine[] meaning by line number
local function body(session)
  local width = math.max(vim.api.nvim_win_get_width(session.wins.panel) - 1, 16)
  local lines, meaning = title(session), {}
  local function add(pieces, means)
    table.insert(lines, pieces)
    meaning[#lines] = means
  end
  if #session.list.files == 0 then
    add({ { " nothing left to decide", "SandboxNote" } }, {})
  end
  local directory
  for i, row in ipairs(session.list.files) do
    if session.flat then
      add(row_pieces(row, full_name(session, row), " ", width), { row = row })
    elseif heads(session.list.files, i) then
      directory = row.path
      add(heading(session, row), { row = row, directory = row.path })
    else
      local parent = vim.fs.dirname(row.path)
      if parent ~= directory then
        directory = parent
        if parent ~= session.dir then
          local shown = message.clean(sessions.relative(session, parent))
          add({ { " ▾ " .. shown .. "/", "SandboxDirectory" } }, { directory = parent })
        end
      end
      local name = vim.fs.basename(row.path)
      if row.from then
        local from = vim.fs.dirname(row.from) == parent and vim.fs.basename(row.from)
          or sessions.relative(session, row.from)
        name = from .. " → " .. name
      end
      add(row_pieces(row, name, parent == session.dir and " " or "   ", width), { row = row })
    end
  end
  if session.list.outside > 0 then
    add({ { "" } }, {})
    add({ { (" ▸ outside (%d)"):format(session.list.outside), "SandboxNote" } }, { outside = true })
  elseif session.all then
    add({ { "" } }, {})
    add({ { " ▾ outside is shown", "SandboxNote" } }, { outside = true })
  end
  if session.list.ignored > 0 then
    add({ { (" ▸ ignored (%d)"):format(session.list.ignored), "SandboxNote" } }, { ignored = true })
    for _, reason in ipairs(vim.split(session.list.why, ", ", { plain = true })) do
      add({ { "   " .. message.clean(reason), "SandboxNote" } }, { ignored = true })
    end
  elseif session.ignored then
    add({ { " ▾ ignored is shown", "SandboxNote" } }, { ignored = true })
  end
  return lines, meaning
end

---@param session sandbox.Session
function M.render(session)
  local buf, win = session.bufs.panel, session.wins.panel
  local lines, meaning = body(session)
  local kept = M.at_cursor(session)
  local old_line = vim.api.nvim_win_get_cursor(win)[1]
  session.lines = meaning
  local text, marks = {}, {}
  for i, pieces in ipairs(lines) do
    local line = ""
    for _, piece in ipairs(pieces) do
      if piece[2] and piece[1] ~= "" then
        table.insert(marks, { i - 1, #line, #line + #piece[1], piece[2] })
      end
      line = line .. piece[1]
    end
    text[i] = line
  end
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, text)
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for _, mark in ipairs(marks) do
    vim.api.nvim_buf_set_extmark(buf, namespace, mark[1], mark[2], { end_col = mark[3], hl_group = mark[4] })
  end
  M.point_at(session, session.file and session.file.path)
  local target = M.line_of(session, kept and kept.row and kept.row.path) or math.min(old_line, #text)
  vim.api.nvim_win_set_cursor(win, { target, 0 })
end

---The line of a path.
---@param session sandbox.Session
---@param path? string
---@return integer?
function M.line_of(session, path)
  if not path then
    return
  end
  for line, means in pairs(session.lines) do
    if means.row and means.row.path == path then
      return line
    end
  end
end

local pointer = vim.api.nvim_create_namespace("sandbox.panel.pointer")

---Show which file is in the pair.
---@param session sandbox.Session
---@param path? string
function M.point_at(session, path)
  local buf = session.bufs.panel
  vim.api.nvim_buf_clear_namespace(buf, pointer, 0, -1)
  local line = M.line_of(session, path)
  if line then
    vim.api.nvim_buf_set_extmark(buf, pointer, line - 1, 0, {
      virt_text = { { "▶", "SandboxBlockSign" } },
      virt_text_pos = "overlay",
      line_hl_group = "Visual",
    })
  end
end

---@param session sandbox.Session
---@param path string
function M.move_to(session, path)
  M.point_at(session, path)
  local line = M.line_of(session, path)
  if line then
    vim.api.nvim_win_set_cursor(session.wins.panel, { line, 0 })
  end
end

---@param session sandbox.Session
---@return sandbox.PanelLine?
function M.at_cursor(session)
  return session.lines[vim.api.nvim_win_get_cursor(session.wins.panel)[1]]
end

---The rows that a range of lines stands for; a directory stands for all below it.
---@param session sandbox.Session
---@param first integer
---@param last integer
---@return sandbox.Row[]
function M.rows(session, first, last)
  local out, seen = {}, {}
  local function add(row)
    if not seen[row.path] then
      seen[row.path] = true
      table.insert(out, row)
    end
  end
  for line = first, last do
    local means = session.lines[line] or {}
    if means.row then
      add(means.row)
    end
    if means.directory then
      local prefix = means.directory .. "/"
      for _, row in ipairs(session.list.files) do
        if vim.startswith(row.path, prefix) then
          add(row)
        end
      end
    end
  end
  return out
end

return M
