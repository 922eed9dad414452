"""A Triton program that goes down its columns row by row, more than once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched_in
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.triton_loops import range_arguments
from kernel_lineage.kernels.triton_syntax import TritonUnit, pointer_of
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
    read: dict[str, ast.For] = {}
    for loop in column_passes(unit):
        for call in unit.loads():
            pointer = pointer_of(unit.form(call.node.args[0]))
            if not pointer or loop not in unit.loops_around(call.node):
                continue
            if read.setdefault(pointer, loop) is not loop:
                _, stop, _ = range_arguments(loop)
                names = {"x": pointer, "R": ast.unparse(stop) if stop else ""}
                yield matched_in(unit, loop, f"{pointer} is read again in another pass", names)
                return


PATTERN = AnchorPattern(
    title="Column read in several passes",
    names={"x": "the pointer parameter that is read again", "R": "the number of rows"},
    find=in_entry(in_triton=_find),
)
