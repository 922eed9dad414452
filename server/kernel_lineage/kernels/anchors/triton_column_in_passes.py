"""A Triton program that goes down its columns row by row, more than once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.triton_loops import range_arguments, read_again
from kernel_lineage.kernels.triton_syntax import TritonUnit
from kernel_lineage.kernels.units import in_entry


def column_passes(unit: TritonUnit) -> list[ast.For]:
    """The loops `for c in range(n)` of a function's own body, all up to the same parameter `n`."""
    by_stop: dict[str, list[ast.For]] = {}
    for statement in unit.function.body:
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name) and not statement.orelse:
            start, stop, step = range_arguments(statement)
            begins = start is None or (isinstance(start, ast.Constant) and start.value == 0)
            if begins and step is None and isinstance(stop, ast.Name) and unit.kernel.parameter(stop.id):
                by_stop.setdefault(stop.id, []).append(statement)
    return max(by_stop.values(), key=len, default=[])


def _find(unit: TritonUnit) -> Iterator[Anchor]:
    if (again := read_again(unit, column_passes(unit))) is not None:
        pointer, loop = again
        _, stop, _ = range_arguments(loop)
        names = {"x": pointer, "R": ast.unparse(stop) if stop else ""}
        yield matched_in(unit, loop, f"{pointer} is read again in another pass", names)


PATTERN = AnchorPattern(
    title="Column read in several passes",
    names={"x": "the pointer parameter that is read again", "R": "the number of rows"},
    find=in_entry(in_triton=_find),
)
