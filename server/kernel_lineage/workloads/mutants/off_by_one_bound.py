"""A bound is off by one: `<` becomes `<=`, `>` becomes `>=`, `i < n` becomes `i < n - 1`, and the other way round.

The gate sees the first as an access behind the end or an element too many, the second as one that was not written.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import COMPARISONS, binaries, enclosed

_OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for comparison in binaries(ground, *sorted(COMPARISONS)):
        operator = text_of(comparison.operator)
        yield (replace_node(comparison.operator, _OTHER[operator]),)
        if operator == "<" and text_of(comparison.left) in ground.addresses:
            yield (replace_node(comparison.right, f"{enclosed(comparison.right)} - 1"),)


MUTATION = Mutation(
    title="bound off by one",
    mutate=_mutate,
    may_survive="a comparison of values, or a bound that no index reaches, decides the same either way",
)
