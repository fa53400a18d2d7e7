-- Works on train.py as a person would, and writes to $SAID what the editor shows after every step.
local said = {}

local function shown()
  return vim.tbl_map(function(item) return { item.lnum + 1, item.col + 1, item.code, item.message } end, vim.diagnostic.get(0))
end

local function see(step, count)
  vim.wait(60000, function() return #vim.diagnostic.get(0) == count end, 50)
  said[step] = shown()
end

vim.ui.select = function(items, _, chosen)
  said.offered = vim.tbl_map(function(item) return (item.action or item[2]).title end, items)
  chosen(items[1])
end

see('opened', 1)
local line = vim.fn.search('return checkpoint')
local text = vim.fn.getline(line)
vim.fn.setline(line, (text:gsub('x%)', 'x, use_reentrant=False)')))
see('changed', 0)
vim.fn.setline(line, text)
see('changed_back', 1)
vim.cmd('write')
vim.wait(1000)
see('saved', 1)
vim.api.nvim_win_set_cursor(0, { line, 16 })
vim.lsp.buf.code_action()
vim.wait(60000, function() return vim.fn.getline(line) ~= text end, 50)
see('fixed', 0)
vim.cmd('write')
local file = io.open(os.getenv('SAID'), 'w')
file:write(vim.fn.json_encode(said))
file:close()
vim.cmd('qa!')
