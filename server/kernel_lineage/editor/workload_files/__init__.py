"""The workload files that the editor has open: what is wrong at which line, and what can be written where."""
