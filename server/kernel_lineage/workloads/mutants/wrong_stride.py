"""A row stride is wrong by one: `row * C + i` becomes `row * (C + 1) + i`.

With a single row the mutant computes the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import binaries


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for product in binaries(ground, "*"):
        if ground.is_address(product.node) and product.right.type in (
            "identifier",
            "attribute",
            "number_literal",
        ):
            yield (replace_node(product.right, f"({text_of(product.right)} + 1)"),)


MUTATION = Mutation(
    title="stride wrong by one",
    mutate=_mutate,
    may_survive="a stride that is only multiplied by zero (one row, one block) does not matter",
)
