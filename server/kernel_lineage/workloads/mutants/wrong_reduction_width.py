"""A reduction leaves threads out: an offset of 16 becomes 8, a mask of all lanes one of half of them."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import calls

_ALL_LANES = frozenset(
    {"0xffffffff", "0xffffffffu", "0xffffffffU", "0xFFFFFFFF", "0xFFFFFFFFu", "0xFFFFFFFFU", "~0"}
)


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    if not ground.cuda:
        return
    for node in ground.of("for_statement"):
        first = _halving_from(node)
        if first is not None:
            yield (replace_node(first, f"{text_of(first)} / 2"),)
    for call in calls(ground):
        if call.name.startswith("__shfl") and len(call.arguments) > 2:
            lanes, offset = call.arguments[0], call.arguments[2]
            if text_of(offset) == "16":
                yield (replace_node(offset, "8"),)
            if text_of(lanes) in _ALL_LANES:
                yield (replace_node(lanes, "0x0000ffffu"),)


def _halving_from(loop: Node) -> Node | None:
    """Where the counter of a halving loop starts."""
    update, start = loop.child_by_field_name("update"), loop.child_by_field_name("initializer")
    text = text_of(update).replace(" ", "")
    if start is None or not any(halves in text for halves in ("/=2", ">>=1", "/2", ">>1")):
        return None
    declared = start.child_by_field_name("declarator")
    return (
        declared.child_by_field_name("value") if declared is not None else start.child_by_field_name("right")
    )


MUTATION = Mutation(
    title="reduction leaves threads out",
    mutate=_mutate,
    may_survive="a mask of lanes is a promise that devices do not check; idle threads add nothing",
)
