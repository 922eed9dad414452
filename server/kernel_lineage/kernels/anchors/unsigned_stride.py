"""A loop that reads global memory, with a signed counter that moves on by an unsigned number such as `blockDim.x`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.code.types import DTYPES
from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_forms import Loop, contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry

_UNSIGNED = re.compile(r"(?:(?:blockDim|gridDim)\s*\.\s*[xyz]\b|\d+\b|[\s*/()])+")
_SIGNED = ("int32", "int64")


def loops_of(unit: Unit) -> list[Loop]:
    """The innermost such loops: how often they run, the compiler cannot tell, so it waits for each load alone."""
    reads = [a.node for a in indexing(unit).accesses if a.space == "global" and a.reads]
    signed = {v.name for v in unit.variables if DTYPES.get(v.type) in _SIGNED and not v.pointer}
    return [
        loop
        for loop in unit.loops
        if loop.node.type == "for_statement"
        and loop.counter in signed
        and loop.body is not None
        and _is_unsigned(loop.step)
        and any(contains(loop.body, node) for node in reads)
        and not unit.has_loop_in(loop.node)
        and "__sync" not in text_of(loop.body)
    ]


def _is_unsigned(step: str) -> bool:
    """Whether a step as written is made of sizes of the launch and numbers, so that it is unsigned."""
    return _UNSIGNED.fullmatch(step) is not None and "Dim" in step


def _find(unit: Unit) -> Iterator[Anchor]:
    for loop in loops_of(unit)[:1]:
        detail = f"the loop over {loop.counter} moves on by the unsigned `{loop.step}`: its loads wait for each other"
        yield matched(loop.node, detail, {"i": loop.counter, "n": text_of(loop.bound)})


PATTERN = AnchorPattern(
    title="Unsigned stride",
    names={"i": "the loop's counter", "n": "its bound"},
    find=in_entry(_find),
)
