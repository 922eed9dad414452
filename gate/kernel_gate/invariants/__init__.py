"""Data-flow invariants: statements in a kernel's comments about where data come from (docs/invariants.md)."""
