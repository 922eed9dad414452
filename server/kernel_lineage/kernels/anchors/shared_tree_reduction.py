"""The halving loop over a shared array, which warp shuffles could replace."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import identifiers_in, integer_of
from kernel_lineage.kernels.cuda_forms import Loop, bare, contains, field_of, inside, operator_of, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.units import in_entry


def _combination(node: Node, tile: str) -> str:
    """How two elements are combined: `+`, `*`, `max` or `min`; "" when it is something else."""
    operator, right = operator_of(node), field_of(node, "right")
    if operator in ("+=", "*="):
        return operator[0]
    if operator != "=" or right is None:
        return ""
    if right.type == "binary_expression" and text_of(right).count(tile) == 2:
        return operator_of(right) if operator_of(right) in ("+", "*") else ""
    if right.type == "call_expression" and text_of(right).count(tile) == 2:
        called = text_of(right.child_by_field_name("function")).rpartition("::")[2]
        return {"fmaxf": "max", "max": "max", "fmax": "max", "fminf": "min", "min": "min", "fmin": "min"}.get(
            called, ""
        )
    return ""


def _reads_partner(loop: Loop, tile: str) -> bool:
    """Whether a loop reads an array where its stride lies between: `tile[tid + s]`."""
    for node in inside(loop.node):
        if node.type == "subscript_expression" and text_of(node.child_by_field_name("argument")) == tile:
            names = identifiers_in(node)
            if loop.counter in names:
                return True
    return False


def _find_in(unit: Unit) -> Iterator[Anchor]:
    reach = indexing(unit)
    for loop in unit.loops:
        if not loop.halves or not any(
            contains(loop.node, c.node) for c in unit.calls_by_name.get("__syncthreads", ())
        ):
            continue
        for node in unit.of("assignment_expression"):
            left = field_of(node, "left")
            if left is None or left.type != "subscript_expression" or not contains(loop.node, node):
                continue
            place = reach.place(left)
            tile = text_of(left.child_by_field_name("argument"))
            operation = _combination(node, tile) or ("step" if _reads_partner(loop, tile) else "")
            if reach.space_of(place.root) == "shared" and operation and place.offset.get("x") == 1:
                index = left.child_by_field_name("indices")
                tid = text_of(index.named_children[0]) if index is not None and index.named_children else ""
                names = {"tile": place.root, "op": operation, "tid": tid, "n": _width(loop.start)}
                yield matched(loop.node, f"{place.root} is reduced by {operation} in halves", names)
                break


def _width(start: Node | None) -> str:
    """What is halved first: `blockDim.x` for a loop from `blockDim.x / 2`, `256` for one from 128."""
    start = bare(start)
    number = integer_of(start)
    if number is not None:
        return str(2 * number)
    if start is not None and start.type == "binary_expression" and operator_of(start) in ("/", ">>"):
        return text_of(start.child_by_field_name("left"))
    return text_of(start)


PATTERN = AnchorPattern(
    title="Tree reduction in shared memory",
    names={
        "tile": "the shared array",
        "op": "how two elements are combined: +, *, max or min, or `step` for another way",
        "tid": "the thread's index",
        "n": "how many elements are reduced",
    },
    find=in_entry(_find_in),
)
