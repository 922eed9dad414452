"""Tasks of a leaderboard: a folder with `reference.py` (`generate_input`, `ref_kernel`) and its cases in `task.yml`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from kernel_gate.files.reading import read_text

FOLDERS_ABOVE = 2
"""How far above a submission its task may lie."""


def cases_of(folder: Path, *lists: str) -> list[Mapping[str, Any]]:
    """The cases in some lists of a task (`tests`, `benchmarks`): a value for each parameter of `generate_input`.

    None where there is no `task.yml`, or one that cannot be read.
    """
    with suppress(OSError, yaml.YAMLError, AttributeError, TypeError):
        task = yaml.safe_load(read_text(folder / "task.yml", errors="replace"))
        rows = [row for name in lists for row in task.get(name) or ()]
        return [row for row in rows if isinstance(row, Mapping) and all(isinstance(n, str) for n in row)]
    return []
