"""An accumulation keeps its last term only: `sum += x` becomes `sum = x`."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import accumulations


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for node, target, term in accumulations(ground):
        yield (replace_node(node, f"{text_of(target)} = {text_of(term)}"),)


MUTATION = Mutation(
    title="accumulation keeps its last term only",
    mutate=_mutate,
    may_survive="when the loop runs once, its last term is the sum; give a size that needs several rounds",
)
