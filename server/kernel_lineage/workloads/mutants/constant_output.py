"""The output does not depend on the input: what is stored is replaced by one."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import stores

_ONE = {"0.0f": "1.0f", "0.0": "1.0", "0": "1"}


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for store in stores(ground):
        if ground.cuda and store.zero in _ONE:
            yield (replace_node(store.value, _ONE[store.zero]),)
        elif not ground.cuda:
            yield (replace_node(store.value, f"({text_of(store.value)}) * 0 + 1"),)


MUTATION = Mutation(
    title="output is constant",
    mutate=_mutate,
)
