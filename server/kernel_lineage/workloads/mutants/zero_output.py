"""The output is zero: what is stored is replaced by zero."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import stores

_ZERO = re.compile(r"[-+]?0*\.?0*[fFuUlL]*")


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for store in stores(ground):
        if _ZERO.fullmatch(text_of(store.value)) is None:
            yield (replace_node(store.value, store.zero),)


MUTATION = Mutation(
    title="output is zero",
    mutate=_mutate,
)
