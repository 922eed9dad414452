"""The same global element read more than once by a thread."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_mapping import innermost_loop, moving_loops
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry


def _walk(unit: Unit, access: Access) -> tuple[object, ...]:
    """What tells one walk over an array from another: the index apart from loops, and the loop's start, step, bound.

    `m = x[0]; for (i = 1; …)` walks over the same row as `for (i = 0; …)`.
    """
    fixed = tuple(sorted((a, str(c)) for a, c in access.index.items() if not a.startswith("loop@")))
    loop = innermost_loop(unit, access)
    if loop is None:
        return (access.root, fixed, text_of(access.node))
    start = "" if integer_of(loop.start) is not None else text_of(loop.start)
    return (access.root, fixed, start, loop.step, text_of(loop.bound))


def _find(unit: Unit) -> Iterator[Anchor]:
    seen: dict[tuple[object, ...], Access] = {}
    roots: set[str] = set()
    for access in indexing(unit).accesses:
        if access.space != "global" or not access.reads or access.writes or not access.index:
            continue
        first = seen.setdefault(_walk(unit, access), access)
        if first is access or access.root in roots:
            continue
        before, here = innermost_loop(unit, first), innermost_loop(unit, access)
        again = before is not None and here is not None and before.node != here.node
        twice = before is None and here is None and text_of(first.node) == text_of(access.node)
        same_round = before is not None and here is not None and before.node == here.node
        if again or twice or (same_round and text_of(first.node) == text_of(access.node)):
            roots.add(access.root)
            along = moving_loops(unit, access)
            names = {"x": access.root, "C": text_of(along[0].bound) if along else ""}
            note = "in a second pass" if again else "twice"
            yield matched(access.node, f"{access.root} is read {note}", names)


PATTERN = AnchorPattern(
    title="Repeated read of global memory",
    names={"x": "the pointer that is read", "C": "the length of the row, when a whole row is read again"},
    find=in_entry(_find),
)
