---Where the blocks of a file are, seen from a cursor. Pure: the engine cuts the blocks, this only
---finds them.
local M = {}

---@alias sandbox.SideName "host"|"sandbox"

---@class sandbox.Hunk as the engine gives it
---@field id string
---@field kind string
---@field host integer[] start and count
---@field sandbox integer[] start and count
---@field old string
---@field new string
---@field conflict boolean the host changed the same place in another way

---Whether a hunk is about the file and not about lines of it.
---@param hunk sandbox.Hunk
---@return boolean
function M.is_attribute(hunk)
  return hunk.kind ~= "lines" and hunk.host[2] + hunk.sandbox[2] == 0
end

---The line on which the cursor stands to be at a hunk.
---@param hunk sandbox.Hunk
---@param side sandbox.SideName
---@param line_count integer of that side's buffer
---@return integer
function M.anchor(hunk, side, line_count)
  local start, count = hunk[side][1], hunk[side][2]
  if hunk.kind == "final_newline" then
    return line_count
  elseif M.is_attribute(hunk) then
    return 1
  elseif count > 0 then
    return start
  end
  -- The other side's lines stand between start and the next line; the cursor goes below them, as with
  -- Neovim's own ]c.
  return math.max(1, math.min(start + 1, line_count))
end

---How well a line fits a hunk: 0 not at all, more is better.
---@param hunk sandbox.Hunk
---@param side sandbox.SideName
---@param line integer
---@param line_count integer
---@return integer
local function fit(hunk, side, line, line_count)
  local start, count = hunk[side][1], hunk[side][2]
  if M.is_attribute(hunk) then
    return line == M.anchor(hunk, side, line_count) and 1 or 0
  elseif count > 0 then
    return line >= start and line < start + count and 4 or 0
  elseif line == M.anchor(hunk, side, line_count) then
    return 3
  end
  return line == start and 2 or 0
end

---The block at a line. The one that is selected stays so as long as the line still touches it.
---@param hunks sandbox.Hunk[]
---@param side sandbox.SideName
---@param line integer
---@param line_count integer
---@param selected? integer
---@return integer? index
function M.at(hunks, side, line, line_count, selected)
  if selected and hunks[selected] and fit(hunks[selected], side, line, line_count) > 0 then
    return selected
  end
  local best, best_fit = nil, 0
  for i, hunk in ipairs(hunks) do
    local f = fit(hunk, side, line, line_count)
    if f > best_fit then
      best, best_fit = i, f
    end
  end
  return best
end

---The blocks that a range of lines touches. Attributes count only where no lines do.
---@param hunks sandbox.Hunk[]
---@param side sandbox.SideName
---@param first integer
---@param last integer
---@param line_count integer
---@return integer[] indices
function M.touched(hunks, side, first, last, line_count)
  local lines, attributes = {}, {}
  for i, hunk in ipairs(hunks) do
    local start, count = hunk[side][1], hunk[side][2]
    if M.is_attribute(hunk) then
      local anchor = M.anchor(hunk, side, line_count)
      if anchor >= first and anchor <= last then
        table.insert(attributes, i)
      end
    elseif count > 0 then
      if start <= last and start + count - 1 >= first then
        table.insert(lines, i)
      end
    elseif start + 1 >= first and start <= last then
      table.insert(lines, i)
    end
  end
  return #lines > 0 and lines or attributes
end

---The block after or before the cursor, nil at the end.
---@param hunks sandbox.Hunk[]
---@param side sandbox.SideName
---@param line integer
---@param line_count integer
---@param current? integer index of the block at the cursor
---@param step 1|-1
---@return integer? index
function M.step(hunks, side, line, line_count, current, step)
  if current then
    local target = current + step
    return hunks[target] and target or nil
  end
  local from, to = 1, #hunks
  if step < 0 then
    from, to = to, from
  end
  for i = from, to, step do
    local anchor = M.anchor(hunks[i], side, line_count)
    if (step > 0 and anchor > line) or (step < 0 and anchor < line) then
      return i
    end
  end
end

---The index of a block by its id.
---@param hunks sandbox.Hunk[]
---@param id string
---@return integer?
function M.by_id(hunks, id)
  for i, hunk in ipairs(hunks) do
    if hunk.id == id then
      return i
    end
  end
end

---@type table<string, string>
local names = {
  mode = "mode",
  renamed = "name",
  eol = "line ends",
  bom = "byte order mark",
  final_newline = "end of file",
  symlink = "link target",
  type = "type",
  binary = "content",
  created = "new file",
  deleted = "deleted",
}

---What an attribute block says of one side.
---@param hunk sandbox.Hunk
---@param side sandbox.SideName
---@return string
function M.value(hunk, side)
  local value = side == "host" and hunk.old or hunk.new
  -- Permission bits only: the type is the same on both sides.
  return hunk.kind == "mode" and value:sub(-4) or value
end

---An attribute block in words.
---@param hunk sandbox.Hunk
---@return string
function M.describe(hunk)
  local name = names[hunk.kind] or hunk.kind
  if hunk.kind == "created" or hunk.kind == "deleted" or hunk.old .. hunk.new == "" then
    return name
  end
  return ("%s: %s → %s"):format(name, M.value(hunk, "host"), M.value(hunk, "sandbox"))
end

return M
