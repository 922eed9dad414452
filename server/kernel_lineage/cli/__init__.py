"""The command line: one file per command in `commands/`, no logic."""

from pathlib import Path

import kernel_lineage
from kernel_gate.processes.surroundings import settle

# Before anything else is imported: the folder that somebody works in may hold a `click.py`.
settle(Path(kernel_lineage.__file__).resolve().parents[1])
