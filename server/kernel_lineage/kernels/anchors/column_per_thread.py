"""One thread walks down a whole column, and its neighbours down the columns beside it."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import indexing, loop_axis
from kernel_lineage.kernels.cuda_mapping import Stride, guard_of, innermost_loop, is_row_pitch, stride_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry


def _find(unit: Unit) -> Iterator[Anchor]:
    for access in indexing(unit).accesses:
        if access.space != "global" or access.index.get("x") != 1:
            continue
        loop = innermost_loop(unit, access)
        if loop is None or stride_of(unit, loop) is not Stride.ONE or integer_of(loop.bound) is not None:
            continue
        if not is_row_pitch(access.index.get(loop_axis(loop), 0)):
            continue
        guard = guard_of(unit, loop.node, "x")
        names = {
            "x": access.root,
            "R": text_of(loop.bound),
            "row": loop.counter,
            "C": text_of(guard.bound) if guard is not None else "",
        }
        yield matched(loop.node, f"each thread walks its column of {access.root} down to {names['R']}", names)
        return


PATTERN = AnchorPattern(
    title="Column per thread",
    names={
        "x": "the pointer that is walked down",
        "R": "the number of rows",
        "row": "the counter of the rows",
        "C": "the number of columns",
    },
    find=in_entry(_find),
)
