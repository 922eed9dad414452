"""The loop with a doubling stride over a shared array, by which a block scans its values step by step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import bare, contains, field_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

DOUBLES = ("*2", "<<1")
"""Steps of a loop whose stride doubles."""


def _find_in(unit: Unit) -> Iterator[Anchor]:
    accesses = [a for a in indexing(unit).accesses if a.space == "shared"]
    waits = unit.calls_by_name.get("__syncthreads", ())
    for loop in unit.loops:
        if loop.step not in DOUBLES or not any(contains(loop.node, c.node) for c in waits):
            continue
        inside = [a for a in accesses if contains(loop.node, a.node)]
        written = next((a for a in inside if a.writes and a.index.get("x") == 1), None)
        below = re.search(rf"-{loop.counter}\b", text_of(loop.body).replace(" ", ""))
        if written is not None and below:
            bound = field_of(bare(loop.condition), "right")
            names = {"tile": written.root, "n": text_of(bound)}
            yield matched(loop.node, f"{written.root} is scanned in doubling steps", names)


PATTERN = AnchorPattern(
    title="Scan in shared memory",
    names={"tile": "the shared array", "n": "how far the stride goes"},
    find=in_entry(_find_in),
)
