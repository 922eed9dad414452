"""One thread works out one element of a flat array in a loop, its neighbours the elements beside it."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_mapping import guard_of
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry


def _find(unit: Unit) -> Iterator[Anchor]:
    accesses = [a for a in indexing(unit).accesses if a.space == "global"]
    reading = [loop for loop in unit.loops if any(a.reads and contains(loop.node, a.node) for a in accesses)]
    for access in accesses:
        if not access.writes or access.index.get("x") != 1 or unit.loops_around(access.node):
            continue
        guard = guard_of(unit, access.node, "x")
        loop = next((one for one in reading if one.node.end_byte <= access.node.start_byte), None)
        if loop is None or guard is None:
            continue
        names = {"y": access.root, "N": text_of(guard.bound), "index": text_of(guard.index)}
        yield matched(loop.node, f"a loop for each element of {access.root}", names)
        return


PATTERN = AnchorPattern(
    title="An element for each thread, in a loop",
    names={
        "y": "the pointer that is written",
        "N": "the number of elements",
        "index": "the thread's element",
    },
    find=in_entry(_find),
)
