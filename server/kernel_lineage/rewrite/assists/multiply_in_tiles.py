"""Multiply matrices in tiles: operands in shared memory, several outputs of each thread in registers.

Before:
    for (int k = 0; k < K; k++) { sum += A[row * K + k] * B[k * N + col]; }
After: a block loads a tile of each operand once, and each of its threads multiplies eight values of one with eight of
the other, so that a value which is read from shared memory is used eight times. What stood around the loop is done for
each of a thread's outputs. Each launch gets a block for each tile.

Loops that stand within each other are one loop (`loop_nests`), and where a factor lies may be any term over its place
and the round, so that a convolution is a product as well: what a condition leaves out of its input is zero in the tile.
Where that makes a sum no number, because the other factor is infinite or none, the old loop works the output out.

Which outputs a block and a thread take is a choice; the candidate holds the one that a simple model of a device likes
best, and the others as its alternatives.
"""

from __future__ import annotations

from dataclasses import replace

from kernel_lineage.kernels.anchors.model import Anchor
from kernel_lineage.kernels.source import Kernel
from kernel_lineage.rewrite.assists.byte_product_code import check_for_bytes, is_of_bytes
from kernel_lineage.rewrite.assists.loop_nests import as_of, has_conditions, with_nests_as_loops
from kernel_lineage.rewrite.assists.model import Assist, Refusal, attempt, with_alternatives
from kernel_lineage.rewrite.assists.product_launch import Blocks
from kernel_lineage.rewrite.assists.product_task import ProductTask, task_of
from kernel_lineage.rewrite.assists.tensor_product_code import check_for_tensor_cores
from kernel_lineage.rewrite.assists.tiled_product_code import NAMES, Tile, tiled_code
from kernel_lineage.rewrite.candidate import Candidate

TILES = (Tile(128, 128, 16, 8, 8), Tile(128, 64, 16, 8, 4), Tile(64, 64, 16, 4, 4))
"""From the one with the most products for each value that is read, to the one with the most blocks."""

_RESIDENT = 2
"""Blocks of the largest tile that a multiprocessor shall hold: 128 registers a thread, which its sums need half of."""


def _rewrite(kernel: Kernel, _anchor: Anchor) -> Candidate:
    summed = with_nests_as_loops(kernel)
    task = task_of(summed)
    if task.total.of_both and has_conditions(task.total.loop):
        raise Refusal("what is skipped would be added, for zeros that stand in its place")
    check = check_for_bytes if is_of_bytes(task.total) else check_for_tensor_cores
    if not isinstance(attempt(lambda: check(task.total)), Refusal):
        # It would gain enough to be taken, and leave nothing for the tensor cores to be tried on.
        raise Refusal(
            "both factors are of 16 bits or less: tensor cores multiply them (tensor-core-matrix-product)"
        )
    # Two tiles of 16 rounds of eight bytes would not fit into a static array.
    wide = task.total.type in ("double", "long long")
    tiles = tuple(replace(t, depth=8) for t in TILES[1:]) if wide else TILES
    return with_alternatives(tiles, lambda tile: _tiled(kernel, task, tile))


def _tiled(kernel: Kernel, task: ProductTask, tile: Tile) -> Candidate:
    names = task.names(NAMES)
    place = names["row_at"], names["column_at"]
    left_out = has_conditions(task.total.loop) and task.total.type in ("float", "double")
    exactly = task.work(place, "") if left_out else None
    edits = task.edits(
        place,
        f"{names['sums']}[{names['i']}][{names['j']}]",
        (tile.rows, tile.columns),
        Blocks(tile.threads, resident=_RESIDENT if tile == TILES[0] else 0),
        lambda outputs: tiled_code(task.product, task.total, tile, names, outputs, exactly),
    )
    return ASSIST.candidate(
        kernel,
        as_of(kernel, task.kernel, edits),
        explanation=f"Blocks of {tile.threads} threads compute {tile.rows}x{tile.columns} outputs from tiles in shared "
        f"memory, each thread {tile.high}x{tile.wide} of them.",
    )


ASSIST = Assist(
    title="Multiply matrices in tiles",
    skill="tiled-matrix-product",
    pattern="naive_matmul",
    make=_rewrite,
)
