---The keys of a review. All of them only call a <Plug> map, so that a user can map others.
local config = require("sandbox.config")

local M = {}

---@param lhs string
---@param name string
---@param desc string
---@param modes string[]
---@return { mode: string, lhs: string, rhs: string, desc: string }[]
local function map(lhs, name, desc, modes)
  return vim.tbl_map(function(mode)
    return { mode = mode, lhs = lhs, rhs = ("<Plug>(sandbox-%s)"):format(name), desc = "Sandbox: " .. desc }
  end, modes)
end

---@return { mode: string, lhs: string, rhs: string, desc: string }[]
local function flat(groups)
  local out = {}
  for _, group in ipairs(groups) do
    vim.list_extend(out, group)
  end
  return out
end

---Keys of the two text windows. The left buffer is the user's own: no single letters here.
function M.text()
  if not config.get().keys then
    return {}
  end
  return flat({
    map("]c", "next-block", "next block", { "n" }),
    map("[c", "prev-block", "previous block", { "n" }),
    map("]f", "next-file", "next file", { "n" }),
    map("[f", "prev-file", "previous file", { "n" }),
    map("<LocalLeader>a", "accept-block", "accept this block", { "n", "x" }),
    map("<LocalLeader>r", "reject-block", "reject this block", { "n", "x" }),
    map("<LocalLeader>A", "accept-file", "accept this file", { "n" }),
    map("<LocalLeader>R", "reject-file", "reject this file", { "n" }),
    map("<LocalLeader>u", "undo", "undo the last decision", { "n" }),
  })
end

---The most needed keys, as a 'statusline'.
---@return string?
function M.hint()
  if not config.get().keys then
    return
  end
  local leader = vim.fn.keytrans(vim.g.maplocalleader or "\\")
  local text = (" ]c [c block  L-a accept  L-r reject  L-A file  L-u undo"):gsub("L%-", function()
    return leader
  end)
  return text:gsub("%%", "%%%%") .. "%=%l,%c %P "
end

---Keys of the panel, in addition to those of the text windows that make sense there.
function M.panel()
  if not config.get().keys then
    return {}
  end
  return flat({
    map("s", "accept-file", "accept", { "n", "x" }),
    map("X", "reject-file", "reject", { "n", "x" }),
    map("S", "accept-all", "accept all", { "n" }),
    map("U", "undo", "undo the last decision", { "n" }),
    map("<C-R>", "redo", "repeat the decision that was undone", { "n" }),
    map("R", "refresh", "compare again", { "n" }),
    map("]f", "next-file", "next file", { "n" }),
    map("[f", "prev-file", "previous file", { "n" }),
    map("g?", "help", "help", { "n" }),
    map("q", "close", "close the review", { "n" }),
  })
end

return M
