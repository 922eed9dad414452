"""Launches that are given more or fewer blocks along x, in the place where the grid is written."""

from __future__ import annotations

import re
from collections.abc import Callable

from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.candidate import Edit
from kernel_lineage.rewrite.launch_site import LaunchError, configuration


def blocks_changed(kernel: Kernel, launch: Launch, change: Callable[[str], str]) -> Edit | None:
    """An edit that puts `change(blocks)` in the place of a CUDA launch's blocks along x.

    None where the launch does not write them out: behind a macro, or in a `dim3` that is made elsewhere.
    """
    try:
        grid = configuration(kernel, launch)[0]
    except LaunchError:
        return None
    listed = re.match(r"dim3\s*\(\s*", grid.text)
    if listed is None:
        plain = grid.text == launch.grid[0] and not _is_dim3(kernel, launch, grid.text)
        return Edit(grid.span, change(_term(grid.text))) if plain else None
    first, rest = launch.grid[0], grid.text[listed.end() :]
    if not rest.startswith(first):
        return None
    return Edit(grid.span, f"dim3({change(_term(first))}{rest[len(first) :]}")


def _is_dim3(kernel: Kernel, launch: Launch, grid: str) -> bool:
    """Whether a grid may be a `dim3`: so is a name that the file declares as one, anywhere."""
    assert kernel.source is not None
    declared = rf"\bdim3\b[\s&]*(?:const\b[\s&]*)?(?:\w+[^;,()]*,\s*)*{re.escape(grid)}\b"
    text = kernel.source.data.decode("utf-8", "replace")
    return "dim3" in launch.definitions.get(grid, "") or re.search(declared, text) is not None


def _term(text: str) -> str:
    return text if re.fullmatch(r"\w+|\w+\([^()]*\)", text) else f"({text})"
