"""One thread walks along a whole row."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import Loop, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing, loop_axis
from kernel_lineage.kernels.cuda_mapping import Stride, guard_of, innermost_loop, is_row_pitch, stride_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

ID = "row_per_thread"


def _is_of_own_row(access: Access, loop: Loop) -> bool:
    """Whether an access goes along a row that begins a pitch further for each thread, or where data says."""
    begins = access.index.get("x", 0)
    return is_row_pitch(begins) or (begins == "?" and access.index.get(loop_axis(loop)) == 1)


def _find(unit: Unit) -> Iterator[Anchor]:
    for access in indexing(unit).accesses:
        loop = innermost_loop(unit, access)
        if access.space != "global" or loop is None or not _is_of_own_row(access, loop):
            continue
        down = loop.step == "-1"
        last = loop.start if down else loop.bound
        if (stride_of(unit, loop) is not Stride.ONE and not down) or integer_of(last) is not None:
            continue
        guard = guard_of(unit, loop.node, "x")
        names = {
            "x": access.root,
            "C": text_of(last),
            "index": loop.counter,
            "N": text_of(guard.bound) if guard is not None else "",
            "row": text_of(guard.index) if guard is not None else "",
        }
        yield matched(ID, loop.node, f"each thread walks its row of {access.root} up to {names['C']}", names)
        return


PATTERN = AnchorPattern(
    id=ID,
    title="Row per thread",
    names={
        "x": "the pointer that is walked along",
        "C": "the length of a row",
        "N": "the number of rows",
        "row": "the thread's row",
        "index": "the counter along the row",
    },
    find=in_entry(_find),
)
