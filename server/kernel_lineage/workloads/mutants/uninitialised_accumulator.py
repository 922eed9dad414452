"""An accumulator has no first value: `float sum = 0.0f;` becomes `float sum;`."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import accumulations


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    accumulators = {text_of(target) for _, target, _ in accumulations(ground)}
    for node in ground.of("init_declarator"):
        declared = node.child_by_field_name("declarator")
        name = text_of(declared).split("[")[0]
        if declared is not None and name in accumulators:
            yield (replace_node(node, text_of(declared)),)


MUTATION = Mutation(
    title="accumulator without a first value",
    mutate=_mutate,
    may_survive="the compiler may choose zero for what has no value",
)
