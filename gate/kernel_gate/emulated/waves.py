"""Which blocks of a grid run together: as many whole clusters as fit into a bounded memory, in the order asked for; all
of them where they wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kernel_gate.emulated import clusters

if TYPE_CHECKING:
    from kernel_gate.emulated.launch import Launch
    from kernel_gate.emulated.wave import Index

_WAVE_BYTES = 1 << 29
_MULTIPROCESSORS, _BLOCKS, _THREADS, _SHARED_BYTES = 132, 32, 2048, 228 << 10
"""An H200 has so many, and each of them so many blocks, threads and bytes (CUDA programming guide)."""


def waves(launch: Launch) -> Iterator[Index]:
    """Linear numbers of the blocks of each wave."""
    size = launch.cluster_size
    if launch.kernel.meets_grid:
        yield np.arange(launch.blocks)
        return
    count = max(_blocks_that_fit(launch) // size, 1) * size
    order = clusters.order(launch.grid, launch.kernel.flat.cluster) if size > 1 else None
    if launch.only_blocks is not None:
        numbers = np.arange(launch.blocks) if order is None else order
        places = dict.fromkeys(int(np.argmax(numbers == n)) // size * size for n in launch.only_blocks)
        chosen = np.concatenate([numbers[place : place + size] for place in places])
        for start in range(0, len(chosen), count):
            yield chosen[start : start + count]
        return
    if launch.checks.order_seed is not None:
        order = np.arange(launch.blocks) if order is None else order
        mixed = np.random.default_rng(launch.checks.order_seed).permutation(launch.blocks // size)
        order = order.reshape(-1, size)[mixed].reshape(-1)
    for start in range(0, launch.blocks, count):
        stop = min(start + count, launch.blocks)
        yield np.arange(start, stop) if order is None else order[start:stop]


def most_that_meet(launch: Launch) -> int:
    """How many blocks can run together that wait for each other, of those that an H200 runs at once."""
    shared = launch.kernel.layout.static_shared_bytes + launch.shared_bytes
    by_shared = _SHARED_BYTES // shared if shared else _BLOCKS
    resident = _MULTIPROCESSORS * min(_BLOCKS, _THREADS // launch.block_threads, by_shared)
    return min(resident, _WAVE_BYTES // _block_bytes(launch))


def _blocks_that_fit(launch: Launch) -> int:
    return min(
        launch.limits.wave_threads // launch.block_threads, _WAVE_BYTES // max(_block_bytes(launch), 1)
    )


def _block_bytes(launch: Launch) -> int:
    layout, threads = launch.kernel.layout, launch.block_threads
    shared = layout.static_shared_bytes + launch.shared_bytes
    per_block = threads * (8 * len(layout.types) + layout.frame_bytes) + 6 * shared
    if launch.tags is not None:
        per_block += launch.tags.block_bytes(threads, shared)
    if launch.kernel.orders_parts and launch.checks.races:
        warps = -(-threads // 32)
        per_block += 8 * warps * (shared // launch.kernel.shared_granule + threads)
    return per_block
