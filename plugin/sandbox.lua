-- Commands and <Plug> maps. Nothing of lua/sandbox is loaded until one is used.
if vim.g.loaded_sandbox then
  return
end
vim.g.loaded_sandbox = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.api.nvim_create_user_command("SandboxReview", function()
    vim.notify("sandbox needs Neovim 0.10 or newer", vim.log.levels.ERROR)
  end, { nargs = "*", bang = true, desc = "Neovim is too old for sandbox" })
  return
end

vim.api.nvim_create_user_command("SandboxRun", function(command)
  require("sandbox.run").command(command)
end, {
  nargs = "*",
  bang = true,
  complete = function(lead, line, position)
    return require("sandbox.run").complete(lead, line, position)
  end,
  desc = "Run a command in this project's sandbox (! in a new one)",
})

vim.api.nvim_create_user_command("SandboxReview", function(command)
  require("sandbox.review").open(command.args ~= "" and command.args or nil)
end, {
  nargs = "?",
  complete = function(lead)
    return require("sandbox.names").complete(lead)
  end,
  desc = "Review what a sandbox changed",
})

---@param modes string[]
---@param name string
---@param action string a function of sandbox.review.actions
---@param desc string
local function plug(modes, name, action, desc)
  vim.keymap.set(modes, ("<Plug>(sandbox-%s)"):format(name), function()
    require("sandbox.review.actions")[action]()
  end, { desc = desc })
end

local both, normal = { "n", "x" }, { "n" }
plug(both, "accept-block", "accept_block", "Accept this block")
plug(both, "reject-block", "reject_block", "Reject this block")
plug(both, "accept-file", "accept_file", "Accept this file")
plug(both, "reject-file", "reject_file", "Reject this file")
plug(both, "accept-all", "accept_all", "Accept all files")
plug(both, "reject-all", "reject_all", "Reject all files")
plug(normal, "next-block", "next_block", "Next block")
plug(normal, "prev-block", "prev_block", "Previous block")
plug(normal, "next-file", "next_file", "Next file")
plug(normal, "prev-file", "prev_file", "Previous file")
plug(normal, "undo", "undo", "Undo the last decision")
plug(normal, "redo", "redo", "Repeat the decision that was undone")
plug(normal, "refresh", "refresh", "Compare again")
plug(normal, "toggle-layout", "toggle_layout", "Side by side or one above the other")
plug(normal, "help", "help", "Help of the review")
plug(normal, "close", "close", "Close the review")

local group = vim.api.nvim_create_augroup("sandbox", { clear = true })
vim.api.nvim_create_autocmd("BufReadCmd", {
  group = group,
  pattern = "sandbox://*",
  callback = function(event)
    require("sandbox.buffer").on_read(event.buf)
  end,
  desc = "Read a file of a sandbox",
})
vim.api.nvim_create_autocmd("BufWriteCmd", {
  group = group,
  pattern = "sandbox://*",
  callback = function(event)
    require("sandbox.buffer").on_write(event.buf)
  end,
  desc = "Write a file into a sandbox",
})
