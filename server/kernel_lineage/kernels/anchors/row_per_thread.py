"""One thread walks along a whole row: its own, or that of its element."""

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


def _in_common(unit: Unit, loop: Loop) -> str:
    """The pointer of which each thread along x writes an element, where a loop reads the same for all of a row; ""
    where it does not.
    """
    accesses = [a for a in indexing(unit).accesses if a.space == "global"]
    read = [a.index for a in accesses if innermost_loop(unit, a) == loop]
    written = [a for a in accesses if a.writes and a.index.get("x") == 1 and not unit.loops_around(a.node)]
    along = [index for index in read if index.get(loop_axis(loop)) == 1 and index.keys() & {"y", "block"}]
    return written[0].root if along and written and not any("x" in index for index in read) else ""


def _of_elements(unit: Unit, loop: Loop) -> tuple[str, str, str]:
    """The number of rows, an element's row and what counts a block's elements, where rows are those of elements."""
    for axis, threads in (("y", "blockDim.x * blockDim.y"), ("x", "blockDim.x")):
        guard = guard_of(unit, loop.node, axis)
        if guard is not None:
            rows = text_of(guard.bound)
            return rows if axis == "y" else f"({rows}) / {text_of(loop.bound)}", text_of(guard.index), threads
    return "", "", "blockDim.x"


def _find(unit: Unit) -> Iterator[Anchor]:
    for access in indexing(unit).accesses:
        loop = innermost_loop(unit, access)
        if access.space != "global" or loop is None:
            continue
        axis = _axis_of_own_row(unit, access, loop)
        down = loop.step == "-1"
        last = loop.start if down else loop.bound
        elements = "" if axis else _in_common(unit, loop)
        along = stride_of(unit, loop) is Stride.ONE or down
        if not (axis or elements) or not along or integer_of(last) is not None:
            continue
        of_own = (*_rows_of(unit, loop, axis), f"blockDim.{axis}")
        rows, row, threads = _of_elements(unit, loop) if elements else of_own
        names = {
            "x": access.root,
            "C": text_of(last),
            "index": loop.counter,
            "N": rows,
            "row": row,
            "threads": threads,
            "y": elements,
        }
        of = "the row of its element" if elements else "its row"
        yield matched(loop.node, f"each thread walks {of} of {access.root} up to {names['C']}", names)
        return


PATTERN = AnchorPattern(
    title="Row per thread",
    names={
        "x": "the pointer that is walked along",
        "C": "the length of a row",
        "N": "the number of rows",
        "row": "the thread's row",
        "index": "the counter along the row",
        "threads": "the threads of a block that have a row each, or an element",
        "y": "the pointer to elements of which each thread writes one; none where a thread has the row for itself",
    },
    find=in_entry(_find),
)
