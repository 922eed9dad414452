"""Several threads of a block add to one global address, each with an atomic of its own."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.anchors.matching import matched
from kernel_lineage.kernels.anchors.model import Anchor, AnchorPattern
from kernel_lineage.kernels.cuda_expressions import integer_of
from kernel_lineage.kernels.cuda_forms import contains, text_of
from kernel_lineage.kernels.cuda_indexing import indexing
from kernel_lineage.kernels.cuda_syntax import Unit
from kernel_lineage.kernels.mechanisms.global_atomics import atomic_calls
from kernel_lineage.kernels.units import in_entry


def _once_a_block(unit: Unit, node: Node) -> bool:
    """Whether a node is under `threadIdx.x == 0`, or under the first lane of the first warp."""
    axes: set[str] = set()
    for statement in unit.of("if_statement"):
        condition = statement.child_by_field_name("condition")
        if condition is None or not contains(statement, node):
            continue
        for test in unit.operations.get("==", ()):
            if contains(condition, test) and integer_of(test.child_by_field_name("right")) == 0:
                axes |= set(indexing(unit).form(test.child_by_field_name("left")))
    return "x" in axes or {"lane", "warp"} <= axes


def _find(unit: Unit) -> Iterator[Anchor]:
    for call, root, space in atomic_calls(unit):
        offset = indexing(unit).place(call.arguments[0]).offset
        same = not {"x", "y", "lane", "warp", "slow"} & set(offset) and "?" not in offset.values()
        fixed = same and not any(axis.startswith("loop@") for axis in offset)
        added = call.name == "atomicAdd" and len(call.arguments) == 2
        used = call.node.parent is None or call.node.parent.type != "expression_statement"
        if space != "global" or not fixed or not added or used:
            continue
        if not _once_a_block(unit, call.node):
            names = {"x": root, "value": text_of(call.arguments[1])}
            yield matched(call.node, f"the threads of a block add to the same element of {root}", names)


PATTERN = AnchorPattern(
    title="Atomic addition by each thread of a block",
    names={"x": "the pointer that is added to", "value": "what each thread adds"},
    find=in_entry(_find),
)
