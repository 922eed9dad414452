"""Each thread sums a row, or goes down a column, that lies beside its neighbours', within a kernel's other work."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import indexing, loop_axis
from kernel_lineage.kernels.cuda_mapping import Stride, innermost_loop, stride_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

_SHARED_OUT = (Stride.BLOCK, Stride.GRID_THREADS)


def _find(unit: Unit) -> Iterator[Anchor]:
    seen = set[int]()
    for access in indexing(unit).accesses:
        loop = innermost_loop(unit, access)
        if access.space != "global" or access.writes or loop is None or loop.node.id in seen:
            continue
        if stride_of(unit, loop) is not Stride.ONE:
            continue
        axis = loop_axis(loop)
        around = [one for one in unit.loops_around(loop.node) if stride_of(unit, one) in _SHARED_OUT]
        along = access.index.get(axis) == 1 and any(
            access.index.get(loop_axis(one), 0) != 0 for one in around
        )
        down = access.index.get("x") == 1 and access.index.get(axis, 0) not in (0, 1)
        if not along and not down:
            continue
        seen.add(loop.node.id)
        where = f"along its rows of {access.root}" if along else f"down its column of {access.root}"
        names = {"x": access.root, "index": loop.counter, "L": text_of(loop.bound)}
        yield matched(loop.node, f"each thread sums {where} up to {names['L']}", names)


PATTERN = AnchorPattern(
    title="Sum of each thread's own",
    names={
        "x": "the pointer that is walked along",
        "index": "the counter of what is summed",
        "L": "how much each thread sums",
    },
    find=in_entry(_find),
)
