"""One file per LSP feature."""
