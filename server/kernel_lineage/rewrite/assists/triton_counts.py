"""How many programs a Triton launch starts along each axis, and which parameter says so to the kernel already."""

from __future__ import annotations

import ast
import re

from kernel_lineage.kernels.python_text import names_in
from kernel_lineage.kernels.source import Kernel, Launch
from kernel_lineage.rewrite.assists.layout import data_of, source_of
from kernel_lineage.rewrite.assists.triton_places import resolved


def program_counts(kernel: Kernel, launch: Launch) -> tuple[str, ...]:
    """The extents of a launch's grid, as the launcher could write them; () where it does not tell all of them.

    `meta["BLOCK"]` of a lambda is told as `BLOCK`, which is no name of the launcher's: it is what the launch gives.
    """
    named = re.search(r"\[\s*(\w+)\s*\]\s*\(", source_of(kernel).text(launch.span))
    if named and re.search(rf"\bdef {named[1]}\(", data_of(kernel).decode("utf-8", "replace")):
        return ()  # what a function computes in between are names of its own
    extents = [_extent(kernel, launch, extent) for extent in launch.grid]
    return tuple(extents) if all(extents) else ()


def _extent(kernel: Kernel, launch: Launch, extent: str) -> str:
    """One extent; "" where it is not told."""
    try:
        tree = ast.parse(extent, mode="eval").body
    except SyntaxError:
        return ""
    constants = {p.name for p in kernel.parameters if p.constexpr}
    used = names_in(tree) & constants
    if not used or launch.span == kernel.name_span:
        return extent
    options = {name: launch.options.get(name, "") for name in used}
    if not all(options.values()) or kernel.attributes.keys() & {"autotune", "heuristics"}:
        return ""
    return resolved(extent, options)
