"""HTML reports: one self-contained file, no network, no script needed to read it."""
