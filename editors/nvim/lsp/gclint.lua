-- Neovim 0.11 and later: with `editors/nvim` on the runtime path, or this file in `~/.config/nvim/lsp/`,
-- `vim.lsp.enable('gclint')` starts it.
return {
  cmd = { 'gclint', 'server' },
  filetypes = { 'python' },
  root_markers = { 'pyproject.toml', 'gclint.toml', 'requirements.txt', '.git' },
}
