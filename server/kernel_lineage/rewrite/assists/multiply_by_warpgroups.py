"""Multiply matrices of 16 bits by warpgroups, on devices of compute capability 9.0.

Before:
    for (int k = 0; k < K; k++) { sum += __half2float(A[row * K + k]) * __half2float(B[k * N + col]); }
After: a block copies tiles of both operands into shared memory, two tiles ahead of the one that is multiplied, and
groups of four warps multiply them there by `wgmma`, which runs beside the copies. Each launch gets a block for each
tile, and more shared memory than a kernel has without asking for it.

What `multiply_on_tensor_cores` says of copies, of sums and of the work for each output holds here as well. The
candidate's alternatives are other tiles. Code for other devices multiplies the same tiles by `mma.sync`.
"""

from __future__ import annotations

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.model import Assist, with_alternatives
from kernel_lineage.rewrite.assists.product_launch import Blocks
from kernel_lineage.rewrite.assists.product_task import ProductTask
from kernel_lineage.rewrite.assists.tensor_product_code import task_for_tensor_cores
from kernel_lineage.rewrite.assists.warpgroup_product_code import (
    NAMES,
    WarpgroupTile,
    value_of,
    warpgroup_code,
)
from kernel_lineage.rewrite.candidate import Candidate

TILES = (WarpgroupTile(128, 256, 4, 1), WarpgroupTile(128, 128, 3, 2))
"""The one with the most products for each value that is read, and two blocks at a time, one of which works while the
other one begins or ends."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    task = task_for_tensor_cores(kernel)
    return with_alternatives(TILES, lambda tile: _multiplied(task, tile))


def _multiplied(task: ProductTask, tile: WarpgroupTile) -> Candidate:
    names = task.names(NAMES)
    edits = task.edits(
        (names["row_at"], names["column_at"]),
        value_of(names),
        (tile.rows, tile.columns),
        Blocks(tile.threads, tile.shared_bytes, tile.resident),
        lambda outputs: warpgroup_code(task.product, task.total, tile, names, outputs),
    )
    return ASSIST.candidate(
        task.kernel,
        edits,
        explanation=f"Blocks of {tile.threads} threads compute {tile.rows}x{tile.columns} outputs by wgmma, with "
        f"{tile.stages} tiles in {tile.shared_bytes >> 10} KiB of shared memory; sums are rounded in another order.",
    )


ASSIST = Assist(
    title="Multiply matrices by warpgroups",
    skill="warpgroup-matrix-product",
    pattern="naive_matmul",
    make=_rewrite,
)
