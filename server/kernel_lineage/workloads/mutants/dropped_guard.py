"""A boundary guard is gone: `if (i < n)` is always taken, an early return never, and a load or store has no mask.

Where every size of the workload is a multiple of the block, nothing is out of bounds and the mutant computes the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import bare, span_of, text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.source import Span
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import calls

_DECIDES = frozenset({"<", "<=", ">", ">=", "==", "&&", "||"})


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    if not ground.cuda:
        yield from _masks(ground)
        return
    for node in ground.of("if_statement"):
        condition = node.child_by_field_name("condition")
        value = condition.child_by_field_name("value") if condition is not None else None
        taken = node.child_by_field_name("consequence")
        if value is None or taken is None or not _compares(bare(value)):
            continue
        yield (replace_node(value, "false" if _leaves(taken) else "true"),)


def _masks(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for call in calls(ground, "load", "store"):
        dropped = [call.keywords[n] for n in ("mask", "other") if n in call.keywords]
        positional = call.arguments[1 if call.name == "load" else 2 :]
        if "mask" in call.keywords or positional:
            yield tuple(_without(ground, node) for node in (*positional, *dropped))


def _without(ground: Ground, argument: Node) -> Edit:
    """An edit that removes an argument and the comma before it."""
    span = span_of(argument)
    start = ground.data.rindex(b",", 0, span.start)
    return Edit(Span(start, span.end, argument.start_point.row + 1, span.last_line), "")


def _compares(condition: Node | None) -> bool:
    if condition is None:
        return False
    return condition.type == "binary_expression" and any(c.type in _DECIDES for c in condition.children)


def _leaves(taken: Node) -> bool:
    return text_of(taken).strip("{} \n\t;") in ("return", "continue", "break")


MUTATION = Mutation(
    title="boundary guard dropped",
    mutate=_mutate,
    may_survive="when every size is a multiple of the block the guard never decides; promise that, or add such a size",
)
