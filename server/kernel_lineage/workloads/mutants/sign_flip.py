"""A sign is wrong: `-x` becomes `x`, and what is stored is negated."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import enclosed, stores


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for node in ground.of("unary_expression", "unary_operator"):
        operand = node.child_by_field_name("argument")
        minus = node.children and node.children[0].type == "-"
        if minus and operand is not None and ground.is_value(node):
            yield (replace_node(node, text_of(operand)),)
    for store in stores(ground):
        if not ground.cuda or store.zero in ("0.0f", "0.0", "0"):
            yield (replace_node(store.value, f"-{enclosed(store.value)}"),)


MUTATION = Mutation(
    title="sign flipped",
    mutate=_mutate,
    may_survive="a value that is masked or squared later has no sign",
)
