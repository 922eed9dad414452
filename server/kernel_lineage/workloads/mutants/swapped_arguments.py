"""Two operands are swapped where their order matters: `a - b`, `a / b`, the branches of a choice, `tl.where`."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import binaries, calls, enclosed, swap


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for operation in binaries(ground, "-", "/"):
        if ground.is_value(operation.node):
            turned = f"{enclosed(operation.right)} {operation.operator.type} {enclosed(operation.left)}"
            yield (replace_node(operation.node, turned),)
    for node in ground.of("conditional_expression"):
        if ground.cuda:
            first, second = (node.child_by_field_name(n) for n in ("consequence", "alternative"))
        else:
            first, second = node.named_children[0], node.named_children[-1]
        if (
            first is not None
            and second is not None
            and text_of(first) != text_of(second)
            and ground.is_value(node)
        ):
            yield swap(first, second)
    for call in calls(ground, "where", "powf", "pow", "fdividef", "__fdividef", "fsub_rn"):
        if len(call.arguments) >= 2 and text_of(call.arguments[-1]) != text_of(call.arguments[-2]):
            yield swap(call.arguments[-2], call.arguments[-1])


MUTATION = Mutation(
    title="operands swapped",
    mutate=_mutate,
)
