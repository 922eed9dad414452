"""A reduction starts from the wrong value: a sum from one, a maximum from zero."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground, value_of
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import calls

_ZEROS = frozenset({"0.0f", "0.f", "0.0", "0f", "0."})
_LEAST = frozenset(
    {"-INFINITY", "-FLT_MAX", '-float("inf")', 'float("-inf")', "float('-inf')", "-float('inf')"}
)


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for node in ground.of("init_declarator", "assignment"):
        value = value_of(node)
        text = text_of(value)
        if value is None:
            continue
        if text in _ZEROS:
            yield (replace_node(value, "1.0f" if ground.cuda else "1.0"),)
        elif text in _LEAST:
            yield (replace_node(value, "0.0f" if ground.cuda else "0.0"),)
    for call in calls(ground, "zeros"):
        if call.qualified.startswith("tl."):
            yield (replace_node(call.node, f"({text_of(call.node)} + 1)"),)


MUTATION = Mutation(
    title="reduction starts from the wrong value",
    mutate=_mutate,
    may_survive="a maximum from zero shows only where all inputs are negative; a softmax is the same for any shift",
)
