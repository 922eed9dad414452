"""Elements of global memory that a kernel touches once, without a word to the cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tree_sitter import Node

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import bare, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import Access, indexing
from kernel_lineage.kernels.cuda_mapping import moves_along_loop
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.linear_forms import lane_stride
from kernel_lineage.kernels.units import in_entry


def streamed(unit: Unit) -> Mapping[str, tuple[Access, ...]]:
    """The parameters of which each element is read once or written once by the whole grid, and their accesses."""
    by_root: dict[str, list[Access]] = {}
    for access in indexing(unit).accesses:
        if access.space == "global":
            by_root.setdefault(access.root, []).append(access)
    handed = {text_of(a) for call in unit.calls for a in call.arguments if a.type == "identifier"}
    return {
        root: tuple(accesses)
        for root, accesses in by_root.items()
        if root not in handed and _once(accesses) and all(_own(unit, a) for a in accesses)
    }


def _once(accesses: list[Access]) -> bool:
    """Whether the accesses of one array are all reads or all writes, at places that are no neighbours."""
    one_way = all(a.reads and not a.writes for a in accesses) or all(
        a.writes and not a.reads for a in accesses
    )
    if not one_way or any(a.via or a.cast or len(a.indices) != 1 for a in accesses):
        return False
    if len(accesses) == 1:
        return True
    # `x[i - 1]` beside `x[i]` is read by the neighbouring thread, too; `x[i + n]` lies elsewhere.
    apart = len({text_of(a.node) for a in accesses}) == len(accesses)
    return apart and not any(_shifted(a.indices[0]) for a in accesses)


def _shifted(index: Node) -> bool:
    node = bare(index)
    if node is None or node.type != "binary_expression" or operator_of(node) not in ("+", "-"):
        return False
    sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
    return any(side is not None and (integer_of(side) is not None or _shifted(side)) for side in sides)


def _own(unit: Unit, access: Access) -> bool:
    """Whether neighbouring threads have neighbouring elements, each of its own, and others in each round of a loop.

    Of elements that lie apart a thread leaves the rest of the line to a later round, which wants it in the cache.
    """
    return (
        lane_stride(access.index) == 1
        and "block" in access.index
        and all(moves_along_loop(access, loop) for loop in unit.loops_around(access.node))
    )


def _find(unit: Unit) -> Iterator[Anchor]:
    for root, accesses in streamed(unit).items():
        done = "read" if accesses[0].reads else "written"
        yield matched(accesses[0].node, f"each element of {root} is {done} once", {"x": root})


PATTERN = AnchorPattern(
    title="Streaming access without a hint",
    names={"x": "the pointer parameter that is read or written"},
    find=in_entry(_find),
)
