"""A row stride is wrong by one: `row * C + i` becomes `row * (C + 1) + i`.

With a single row the mutant computes the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_lineage.kernels.cuda_forms import text_of
from kernel_lineage.kernels.edits import Edit, replace_node
from kernel_lineage.kernels.source import Language
from kernel_lineage.workloads.mutants.examples import (
    ROW_SUMS,
    TILED_MATMUL,
    TRITON_ROWS,
    changed,
)
from kernel_lineage.workloads.mutants.ground import Ground
from kernel_lineage.workloads.mutants.model import Mutation, UntouchedExample
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
    id="wrong_stride",
    title="stride wrong by one",
    mutate=_mutate,
    mutates=(
        changed(ROW_SUMS, "blockIdx.x * C", "blockIdx.x * (C + 1)"),
        changed(TILED_MATMUL, "a[row * K", "a[row * (K + 1)"),
        changed(TRITON_ROWS, "x_ptr + row * C", "x_ptr + row * (C + 1)"),
    ),
    leaves=(
        UntouchedExample(
            Language.CUDA, "fill", "__global__ void fill(float* x) { x[threadIdx.x] = 1.0f; }\n"
        ),
    ),
    may_survive="a stride that is only multiplied by zero (one row, one block) does not matter",
)
