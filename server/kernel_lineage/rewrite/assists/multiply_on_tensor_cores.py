"""Multiply matrices of 16 bits on tensor cores, with sums in float.

Before:
    for (int k = 0; k < K; k++) { sum += __half2float(A[row * K + k]) * __half2float(B[k * N + col]); }
After: a block copies tiles of both operands into shared memory, two tiles ahead of the one that it multiplies, and each
of its warps multiplies fragments of 16 x 16 x 8 by `mma.sync`. What stood around the loop is done for each output. Each
launch gets a block for each tile.

Pieces of 16 bytes are copied as a whole where they are aligned and lie inside the matrices, else element by element. A
product is added up in another order; in float also where the kernel added in 16 bits. The candidate's alternatives are
other tiles.
"""

from __future__ import annotations

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.model import Assist, with_alternatives
from kernel_lineage.rewrite.assists.product_launch import Blocks
from kernel_lineage.rewrite.assists.product_task import ProductTask
from kernel_lineage.rewrite.assists.tensor_product_code import (
    NAMES,
    TensorTile,
    task_for_tensor_cores,
    tensor_code,
)
from kernel_lineage.rewrite.candidate import Candidate

TILES = (
    TensorTile(128, 128, 32, 64, 64, 3),
    TensorTile(128, 256, 32, 64, 64, 2),
    TensorTile(64, 64, 32, 32, 32, 4),
)
"""Within the 48 KiB that a static shared array may have: three tiles ahead, more outputs, or more blocks."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    task = task_for_tensor_cores(kernel)
    return with_alternatives(TILES, lambda tile: _multiplied(task, tile))


def _multiplied(task: ProductTask, tile: TensorTile) -> Candidate:
    names = task.names(NAMES)
    edits = task.edits(
        (names["row_at"], names["column_at"]),
        f"{names['sums']}[{names['i']}][{names['j']}][{names['v']}]",
        (tile.rows, tile.columns),
        Blocks(tile.threads),
        lambda outputs: tensor_code(task.product, task.total, tile, names, outputs),
    )
    return ASSIST.candidate(
        task.kernel,
        edits,
        explanation=f"Blocks of {tile.threads} threads compute {tile.rows}x{tile.columns} outputs on tensor "
        f"cores, with {tile.stages} tiles of {tile.depth} rounds in shared memory; sums are rounded in another order.",
    )


ASSIST = Assist(
    title="Multiply matrices on tensor cores",
    skill="tensor-core-matrix-product",
    pattern="naive_matmul",
    make=_rewrite,
)
