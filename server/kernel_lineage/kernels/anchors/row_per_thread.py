"""One thread walks along a whole row."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import Loop, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing, loop_axis
from kernel_lineage.kernels.cuda_mapping import Stride, guard_of, innermost_loop, is_row_pitch, stride_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

_ALONG = {
    "x": re.compile(r"(?!)"),
    "y": re.compile(r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\b(?!\s*\.\s*[yz])"),
}
"""What a kernel whose rows lie along an axis must not name: along y nothing that tells threads along x apart."""


def _axis_of_own_row(unit: Unit, access: Access, loop: Loop) -> str:
    """The axis along which each thread has a row of its own, a pitch further or where data says; "" where none."""
    for axis, others in _ALONG.items():
        begins = access.index.get(axis, 0)
        own = is_row_pitch(begins) or (begins == "?" and access.index.get(loop_axis(loop)) == 1)
        if own and not others.search(text_of(unit.node)):
            return axis
    return ""


def _rows_of(unit: Unit, loop: Loop, axis: str) -> tuple[str, str]:
    """The number of rows and the thread's row, as a check of its bounds or a loop over the grid tells them."""
    guard = guard_of(unit, loop.node, axis)
    if guard is not None:
        return text_of(guard.bound), text_of(guard.index)
    around = [one for one in unit.loops_around(loop.node) if stride_of(unit, one) is Stride.GRID_THREADS]
    return (text_of(around[-1].bound), around[-1].counter) if around else ("", "")


def _find(unit: Unit) -> Iterator[Anchor]:
    for access in indexing(unit).accesses:
        loop = innermost_loop(unit, access)
        if access.space != "global" or loop is None:
            continue
        axis = _axis_of_own_row(unit, access, loop)
        down = loop.step == "-1"
        last = loop.start if down else loop.bound
        if not axis or (stride_of(unit, loop) is not Stride.ONE and not down) or integer_of(last) is not None:
            continue
        rows, row = _rows_of(unit, loop, axis)
        names = {
            "x": access.root,
            "C": text_of(last),
            "index": loop.counter,
            "N": rows,
            "row": row,
            "threads": f"blockDim.{axis}",
        }
        yield matched(loop.node, f"each thread walks its row of {access.root} up to {names['C']}", names)
        return


PATTERN = AnchorPattern(
    title="Row per thread",
    names={
        "x": "the pointer that is walked along",
        "C": "the length of a row",
        "N": "the number of rows",
        "row": "the thread's row",
        "index": "the counter along the row",
        "threads": "the threads of a block that have a row each",
    },
    find=in_entry(_find),
)
