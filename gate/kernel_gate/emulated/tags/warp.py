"""How tags go between the threads of a warp: `shfl`, `redux`, `movmatrix`, and matrices in shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kernel_gate.emulated.access import access
from kernel_gate.emulated.instructions.warp import warp_groups
from kernel_gate.emulated.lanes import source_lanes
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags.keys import UNTAGGED, Keys
from kernel_gate.emulated.tags.memory import read, write
from kernel_gate.emulated.tags.shadows import Shadows, around
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave
from kernel_gate.program import WARP

_ROWS = 8


def shuffle(shadows: Shadows, site: Site) -> Wrap | None:
    """`shfl.sync`: the tags of the lane that is read."""
    target, _ = site.pair(0)
    mode = site.first("up", "down", "bfly", "idx") or "idx"
    kind = TYPES["b32"]
    by, clamp = site.read(2, kind), site.read(3, kind)
    if not shadows.follows(target):
        return None

    def watch(wave: Wave) -> Iterator[None]:
        threads, tags = wave.index, shadows.get(wave, site.operand(1))
        if tags is not None:
            lane = wave.lane[threads]
            source, _ = source_lanes(mode, lane, by(wave), clamp(wave))
            place = np.zeros(wave.threads + WARP, np.int64)
            place[threads] = np.arange(len(threads))
            tags = tags[..., place[threads - lane + source]]
        yield
        shadows.put(wave, site, target, tags)

    return around(shadows, watch)


def reduce(shadows: Shadows, site: Site) -> Wrap | None:
    """`redux.sync`: what went into any lane of the mask."""
    if not shadows.follows(site.operand(0)):
        return None
    mask = site.read(2, TYPES["b32"])

    def watch(wave: Wave) -> Iterator[None]:
        tags = shadows.get(wave, site.operand(1))
        if tags is not None:
            group, _ = warp_groups(wave, mask(wave))
            together = np.full((*tags.shape[:2], int(group.max()) + 1), UNTAGGED, np.int64)
            for number in range(together.shape[2]):
                together[..., number] = tags[..., group == number].min(axis=2)
            tags = together[..., group]
        yield
        shadows.put(wave, site, site.operand(0), tags)

    return around(shadows, watch)


def load_matrices(shadows: Shadows, site: Site) -> Wrap | None:
    """`ldmatrix`: lane 8·i + r names row r of matrix i."""
    targets = items(site.operand(0))
    if not shadows.follows(site.operand(0)):
        return None
    count, transposed = len(targets), site.has("trans")
    where = replace(access(site, 1, "read", TYPES["b64"], 2), counted=False)

    def watch(wave: Wave) -> Iterator[None]:
        outer, threads = wave.active, wave.index
        wave.active = threads if count == 4 else threads[wave.lane[threads] < count * _ROWS]
        tags = read(shadows, wave, where)
        wave.active = outer
        yield
        lanes = None if tags is None else _to_lanes(shadows, tags, count, transposed)
        for position, target in enumerate(targets):
            shadows.put(wave, site, target, None if lanes is None else lanes[position])

    return around(shadows, watch)


def _to_lanes(shadows: Shadows, tags: Keys, count: int, transposed: bool) -> list[Keys]:
    """The tags of rows of 16 bytes as those of `count` registers of every lane."""
    width = len(tags)
    # (width, granules of a row, rows) → (width, warps, matrices, row, element of 16 bits, lanes of it).
    cells = tags.transpose(0, 2, 1)
    per_element = max(2 // shadows.flow.granule, 1)
    if shadows.flow.granule == 4:
        cells = np.repeat(cells, 2, axis=2)
    blocks = cells.reshape(width, -1, count, _ROWS, _ROWS, per_element)
    if transposed:
        blocks = blocks.transpose(0, 1, 2, 4, 3, 5)
    pairs = blocks.reshape(width, -1, count, WARP, 2 * per_element)
    if shadows.flow.granule == 4:
        pairs = pairs.min(axis=4, keepdims=True)
    return [pairs[:, :, m].reshape(width, -1, pairs.shape[4]).transpose(0, 2, 1) for m in range(count)]


def store_matrices(shadows: Shadows, site: Site) -> Wrap | None:
    """`stmatrix`: the opposite of `ldmatrix`."""
    sources = items(site.operand(1))
    count, transposed = len(sources), site.has("trans")
    where = replace(access(site, 0, "read", TYPES["b64"], 2), counted=False)

    def watch(wave: Wave) -> Iterator[None]:
        parts = [shadows.get(wave, source, 4) for source in sources]
        yield
        tags = None
        if any(part is not None for part in parts):
            full = [shadows.filled(wave, part, shadows.lanes(4)) for part in parts]
            tags = _to_rows(shadows, full, transposed)
        outer, threads = wave.active, wave.index
        wave.active = threads if count == 4 else threads[wave.lane[threads] < count * _ROWS]
        write(shadows, wave, where, tags)
        wave.active = outer

    return around(shadows, watch)


def _to_rows(shadows: Shadows, parts: list[Keys], transposed: bool) -> Keys:
    """The tags of registers as those of rows of 16 bytes, a thread a row."""
    width = len(parts[0])
    lanes = np.stack(parts, axis=1).transpose(0, 3, 1, 2)  # (width, threads, matrices, lanes)
    per_element = max(2 // shadows.flow.granule, 1)
    if shadows.flow.granule == 4:
        lanes = np.repeat(lanes, 2, axis=3)
    count = len(parts)
    blocks = lanes.reshape(width, -1, WARP, count, 2, per_element).transpose(0, 1, 3, 2, 4, 5)
    blocks = blocks.reshape(width, -1, count, _ROWS, _ROWS, per_element)
    if transposed:
        blocks = blocks.transpose(0, 1, 2, 4, 3, 5)
    rows = blocks.reshape(width, -1, _ROWS * per_element)
    if shadows.flow.granule == 4:
        rows = rows.reshape(width, rows.shape[1], -1, 2).min(axis=3)
    return rows.transpose(0, 2, 1)


def transpose_matrix(shadows: Shadows, site: Site) -> Wrap | None:
    """`movmatrix`."""
    if not shadows.follows(site.operand(0)):
        return None

    def watch(wave: Wave) -> Iterator[None]:
        tags = shadows.get(wave, site.operand(1), 4)
        yield
        if tags is not None:
            rows = _to_rows(shadows, [tags], True)
            tags = _to_lanes(shadows, rows, 1, False)[0]
        shadows.put(wave, site, site.operand(0), tags)

    return around(shadows, watch)
