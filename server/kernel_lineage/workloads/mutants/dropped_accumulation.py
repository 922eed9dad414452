"""An accumulation keeps its last term only: `sum += x` becomes `sum = x`."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.workloads.mutants.examples import (
    ROW_SUMS,
    SCALE,
    TRITON_MATMUL,
    TRITON_ROWS,
    WARP_SOFTMAX_SUM,
    changed,
    untouched,
)
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation
from kernel_lineage.workloads.mutants.operations import accumulations


def _mutate(ground: Ground) -> Iterator[tuple[Edit, ...]]:
    for node, target, term in accumulations(ground):
        yield (replace_node(node, f"{text_of(target)} = {text_of(term)}"),)


MUTATION = Mutation(
    id="dropped_accumulation",
    title="accumulation keeps its last term only",
    mutate=_mutate,
    mutates=(
        changed(ROW_SUMS, "sum += row[i];", "sum = row[i];"),
        changed(WARP_SOFTMAX_SUM, "value += __shfl", "value = __shfl"),
        changed(TRITON_MATMUL, "total += tl.dot(a, b)", "total = tl.dot(a, b)"),
    ),
    leaves=(untouched(SCALE), untouched(TRITON_ROWS)),
    may_survive="when the loop runs once, its last term is the sum; give a size that needs several rounds",
)
