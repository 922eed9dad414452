"""Multiply matrices of 16 bits or of bytes on tensor cores, with sums in float or in whole numbers of 32 bits.

Before:
    for (int k = 0; k < K; k++) { sum += __half2float(A[row * K + k]) * __half2float(B[k * N + col]); }
After: a block copies tiles of both operands into shared memory, two tiles ahead of the one that it multiplies, and each
of its warps multiplies fragments of 16 x 16 x 8 by `mma.sync`. What stood around the loop is done for each output. Each
launch gets a block for each tile.

Pieces of 16 bytes are copied as a whole where they are aligned and lie inside the matrices, else element by element. A
product is added up in another order; in float also where the kernel added in 16 bits. The candidate's alternatives are
other tiles.

Where bytes are multiplied, a fragment is of 16 x 8 x 32, and four rounds of a place lie in one word of a tile, which
passes through registers: there the bytes of an operand that lies along the outputs are turned. Their sums are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists import byte_product_code
from kernel_lineage.rewrite.assists.byte_product_code import byte_code, check_for_bytes, is_of_bytes
from kernel_lineage.rewrite.assists.model import Assist, with_alternatives
from kernel_lineage.rewrite.assists.product_launch import Blocks
from kernel_lineage.rewrite.assists.product_sum import SumOfProducts
from kernel_lineage.rewrite.assists.product_task import ProductTask, task_of
from kernel_lineage.rewrite.assists.products import Product
from kernel_lineage.rewrite.assists.tensor_product_code import (
    NAMES,
    TensorTile,
    check_for_tensor_cores,
    tensor_code,
)
from kernel_lineage.rewrite.candidate import Candidate

_Code = Callable[[Product, SumOfProducts, TensorTile, Mapping[str, str], list[str]], list[str]]

TILES = (
    TensorTile(128, 128, 32, 64, 64, 3),
    TensorTile(128, 256, 32, 64, 64, 2),
    TensorTile(64, 64, 32, 32, 32, 4),
)
"""Within the 48 KiB that a static shared array may have: three tiles ahead, more outputs, or more blocks."""


BYTE_TILES = (
    TensorTile(128, 128, 64, 64, 32, 2),
    TensorTile(128, 64, 64, 32, 32, 2),
    TensorTile(64, 64, 64, 32, 32, 2),
)
"""Tiles of bytes, within 48 KiB as well."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    task = task_of(kernel)
    if is_of_bytes(task.total):
        check_for_bytes(task.total)
        return with_alternatives(
            BYTE_TILES, lambda tile: _multiplied(task, tile, byte_product_code.NAMES, byte_code)
        )
    check_for_tensor_cores(task.total)
    return with_alternatives(TILES, lambda tile: _multiplied(task, tile, NAMES, tensor_code))


def _multiplied(task: ProductTask, tile: TensorTile, wanted: str, code: _Code) -> Candidate:
    names = task.names(wanted)
    edits = task.edits(
        (names["row_at"], names["column_at"]),
        f"{names['sums']}[{names['i']}][{names['j']}][{names['v']}]",
        (tile.rows, tile.columns),
        Blocks(tile.threads),
        lambda outputs: code(task.product, task.total, tile, names, outputs),
    )
    return ASSIST.candidate(
        task.kernel,
        edits,
        explanation=f"Blocks of {tile.threads} threads compute {tile.rows}x{tile.columns} outputs on tensor "
        f"cores, with {tile.stages} tiles of {tile.depth} rounds in shared memory"
        f"{'' if code is byte_code else '; sums are rounded in another order'}.",
    )


ASSIST = Assist(
    title="Multiply matrices on tensor cores",
    skill="tensor-core-matrix-product",
    pattern="naive_matmul",
    make=_rewrite,
)
