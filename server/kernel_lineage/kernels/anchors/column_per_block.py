"""The threads of a block walk down a whole column, and the blocks beside it down the columns beside it."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import innermost_loop, is_row_pitch
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry


def _find(unit: Unit) -> Iterator[Anchor]:
    for access in indexing(unit).accesses:
        loop = innermost_loop(unit, access) if access.space == "global" else None
        if loop is None or loop.bound is None:
            continue
        if access.index.get("block") == 1 and is_row_pitch(access.index.get("x", 0)):
            names = {"x": access.root, "R": text_of(loop.bound)}
            detail = f"the threads of each block walk a column of {access.root} down to {names['R']}"
            yield matched(loop.node, detail, names)
            return


PATTERN = AnchorPattern(
    title="Column per block",
    names={"x": "the pointer that is walked down", "R": "the number of rows"},
    find=in_entry(_find),
)
