"""A wrong operator: `+` for `-`, `*` for `+`, the smaller for the larger, a maximum for a sum."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import binaries, calls

_OPERATORS = {"+": "-", "-": "+", "*": "+", "/": "*"}
_FUNCTIONS = {
    "fmaxf": "fminf", "fminf": "fmaxf", "fmax": "fmin", "fmin": "fmax", "max": "min", "min": "max",
    "maximum": "minimum", "minimum": "maximum", "sum": "max", "atomicAdd": "atomicExch", "atomicMax": "atomicMin",
}  # fmt: skip


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for operation in binaries(ground, *_OPERATORS):
        if ground.is_value(operation.node):
            yield (replace_node(operation.operator, _OPERATORS[operation.operator.type]),)
    for call in calls(ground, *_FUNCTIONS):
        name = _last_name(call.node.child_by_field_name("function"))
        if name is not None and ground.is_value(call.node):
            yield (replace_node(name, _FUNCTIONS[call.name]),)


def _last_name(function: Node | None) -> Node | None:
    while function is not None and function.type not in ("identifier", "field_identifier"):
        function = function.named_children[-1] if function.named_children else None
    return function if function is not None and text_of(function) in _FUNCTIONS else None


MUTATION = Mutation(
    title="wrong operator",
    mutate=_mutate,
    may_survive="the running maximum of a stable softmax only guards against overflow: any shift gives the same result",
)
