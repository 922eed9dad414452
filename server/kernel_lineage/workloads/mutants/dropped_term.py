"""A term of a sum is missing: `a + b` becomes `a`."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import binaries


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for total in binaries(ground, "+", "-"):
        if not ground.is_value(total.node):
            continue
        yield (replace_node(total.node, text_of(total.left)),)
        if total.operator.type == "+":
            yield (replace_node(total.node, text_of(total.right)),)


MUTATION = Mutation(
    title="term of a sum dropped",
    mutate=_mutate,
    may_survive="a term as small as an epsilon is within the tolerance of other inputs than tiny ones",
)
