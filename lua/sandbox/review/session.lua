---The open reviews of this editor, one a sandbox and one a tab.
local M = {}

---@class sandbox.Side
---@field print string
---@field type string
---@field mode integer
---@field size integer
---@field target? string
---@field text? string

---@class sandbox.File as the host compares it
---@field name string
---@field path string
---@field from? string
---@field kind string "" when there is no change any more
---@field conflict boolean
---@field base string "same", "known" or "unknown"
---@field apart? integer[][] where only the host changed: host start and count, sandbox start and count
---@field sensitive? { level: string, reason: string }
---@field host sandbox.Side
---@field sandbox sandbox.Side
---@field hunks sandbox.Hunk[]
---@field git? string[] what changed in a git repository, line by line
---@field placeholder? string why the sides cannot be shown as text

---@class sandbox.Row
---@field path string
---@field from? string
---@field kind string
---@field added integer
---@field removed integer
---@field conflict boolean
---@field host string type
---@field sandbox string type
---@field sensitive? { level: string, reason: string }
---@field git? string what changed in the git repository that the row stands for
---@field ignored? string the rule that leaves it out

---@class sandbox.List
---@field name string
---@field dir string
---@field all boolean
---@field seq integer
---@field running boolean
---@field files sandbox.Row[]
---@field outside integer
---@field ignored integer how many an ignore rule leaves out
---@field why string by which rules

---@class sandbox.Session
---@field name string
---@field dir string
---@field all boolean whether the changes outside of dir are listed too
---@field ignored boolean whether what ignore rules leave out is listed too
---@field tab integer
---@field origin { tab: integer, win: integer } where the user came from
---@field wins { panel: integer, host: integer, sandbox: integer }
---@field bufs { panel: integer, host?: integer, sandbox?: integer }
---@field list sandbox.List
---@field file? sandbox.File the one in the pair
---@field shown? { host?: sandbox.Text, host_tick?: integer, host_ok: boolean } what the pair was checked against
---@field selected? integer the block at the cursor
---@field borrowed sandbox.Borrowed
---@field own table<integer, true> buffers that the review made
---@field busy boolean
---@field queue function[]
---@field counts { accepted: integer, rejected: integer }
---@field decided { verb: string, arguments: table }[] newest last
---@field undone { verb: string, arguments: table }[]
---@field augroup integer
---@field stacked boolean
---@field flat boolean
---@field lines table[] what each line of the panel stands for
---@field closed boolean

---@type sandbox.Session[]
local sessions = {}

---@param session sandbox.Session
function M.add(session)
  table.insert(sessions, session)
end

---@param session sandbox.Session
function M.remove(session)
  for i, other in ipairs(sessions) do
    if other == session then
      table.remove(sessions, i)
      return
    end
  end
end

---Whether a review is still there. To be asked after every wait.
---@param session sandbox.Session
---@return boolean
function M.alive(session)
  return not session.closed
    and vim.api.nvim_tabpage_is_valid(session.tab)
    and vim.api.nvim_win_is_valid(session.wins.panel)
    and vim.api.nvim_win_is_valid(session.wins.host)
    and vim.api.nvim_win_is_valid(session.wins.sandbox)
end

---The review in a tab.
---@param tab? integer the current one when left out
---@return sandbox.Session?
function M.in_tab(tab)
  tab = tab or vim.api.nvim_get_current_tabpage()
  for _, session in ipairs(sessions) do
    if session.tab == tab and not session.closed then
      return session
    end
  end
end

---The review of a sandbox.
---@param name string
---@return sandbox.Session?
function M.by_name(name)
  for _, session in ipairs(sessions) do
    if session.name == name and not session.closed then
      return session
    end
  end
end

---Which side of the pair a window shows.
---@param session sandbox.Session
---@param win? integer
---@return sandbox.SideName?
function M.side_of(session, win)
  win = win or vim.api.nvim_get_current_win()
  if win == session.wins.host then
    return "host"
  elseif win == session.wins.sandbox then
    return "sandbox"
  end
end

---A path for people: below the review's directory without it, else whole.
---@param session sandbox.Session
---@param path string
---@return string
function M.relative(session, path)
  local prefix = session.dir == "/" and "/" or session.dir .. "/"
  return vim.startswith(path, prefix) and path:sub(#prefix + 1) or path
end

return M
