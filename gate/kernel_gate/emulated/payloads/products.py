"""Payloads through products of matrices: `mma.sync`, `wmma.mma` and `wgmma.mma_async`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kernel_gate.emulated.instructions import wgmma
from kernel_gate.emulated.matrices.elements import ELEMENTS, cells_of
from kernel_gate.emulated.matrices.fragments import Fragment, accumulator
from kernel_gate.emulated.matrices.registers import read_words, readers
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.payloads.fields import LEVELS, Payload, multiply_add
from kernel_gate.emulated.payloads.literals import lift
from kernel_gate.emulated.payloads.sources import payload_of
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags import matrices, registers
from kernel_gate.emulated.tags.shadows import Shadows, around
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave
from kernel_gate.program import WARP

_POSITIONS = {"a": 1, "b": 2, "c": 3}


def product(shadows: Shadows, site: Site) -> Wrap | None:
    """Around a product; None for the shapes whose fragments are not followed."""
    shape = matrices.product_of(site)
    if shape is None:
        return None
    names = [part for part in site.parts if part in ELEMENTS or part in ("f16", "f32", "f64", "s32")]
    if site.parts[0] == "wmma" and len(names) == 2:
        names[1:1] = ["f16", "f16"]
    if "s32" in names:
        return registers.clear(shadows, site)
    fragments = {"a": shape.a, "b": shape.b, "c": shape.c}
    types = dict(zip("abc", names[1:], strict=True))

    def gather(wave: Wave, which: str) -> Payload:
        return _matrix(shadows, wave, site, _POSITIONS[which], fragments[which], types[which])

    def watch(wave: Wave) -> Iterator[None]:
        a, b, total = (gather(wave, which) for which in "abc")
        for k in range(a.shape[3]):
            total = multiply_add(a[:, :, :, k, None], b[:, :, k, None, :], total)
        yield
        matrices.scatter(shadows, wave, site, items(site.operand(0)), shape.d, total.astype(np.int64))

    return around(shadows, watch)


def _matrix(
    shadows: Shadows, wave: Wave, site: Site, position: int, fragment: Fragment, name: str
) -> Payload:
    """(LEVELS, warps, rows, columns)."""
    words = read_words(wave, readers(site, position))
    if name in ("f32", "tf32"):
        # What TF32 cuts off is rounding, which the check of values judges.
        values = words.view(np.float32)[..., None].astype(np.float64)
    else:
        values = ELEMENTS[name].open(cells_of(words, ELEMENTS[name]))
    count = fragment.per_register
    cells = []
    for number, register in enumerate(items(site.operand(position))):
        flat = values[number].reshape(-1, count)
        tags = shadows.get(wave, register)
        if tags is None:
            cells.append(np.stack([lift(flat[:, element]) for element in range(count)], axis=-1))
            continue
        lanes = max(tags.shape[1] // count, 1)
        last = [min((element + 1) * lanes - 1, tags.shape[1] - 1) for element in range(count)]
        cells.append(np.stack([payload_of(tags[:, at], flat[:, e]) for e, at in enumerate(last)], axis=-1))
    stacked = np.stack(cells, axis=1).reshape(LEVELS, len(cells), -1, WARP, count)
    return np.stack([fragment.gather(np.ascontiguousarray(level)) for level in stacked])


def warpgroup(shadows: Shadows, site: Site) -> Wrap | None:
    """Around a product by warpgroups; None where not both operands lie in memory as floats of 16 bits."""
    factors = wgmma.factors_of(site)
    a, b, fragment = factors.a, factors.b, accumulator(16, factors.columns, 1)
    if a is None or factors.sums != "f32" or factors.sign != 1.0 or shadows.flow.granule != 2:
        return None
    if any(tile.element.bits != 16 for tile in (a, b)):
        return None
    adds = site.read(3, TYPES["pred"])

    def watch(wave: Wave) -> Iterator[None]:
        x, y = _tile(shadows, wave, a), _tile(shadows, wave, b)
        total = _matrix(shadows, wave, site, 0, fragment, "f32")
        # Four warps hold 16 rows each, one below the other.
        total = total.reshape(LEVELS, len(x[0]), -1, factors.columns)
        keep = wave.spread(adds(wave)).reshape(len(x[0]), -1)[:, 0]
        total = np.where(keep[:, None, None], total, np.uint64(0))
        for k in range(factors.k):
            total = multiply_add(x[:, :, :, k, None], y[:, :, None, :, k], total)
        yield
        rows = total.reshape(LEVELS, -1, 16, factors.columns).astype(np.int64)
        matrices.scatter(shadows, wave, site, items(site.operand(0)), fragment, rows)

    return around(shadows, watch)


def _tile(shadows: Shadows, wave: Wave, tile: wgmma.Tile) -> Payload:
    """(LEVELS, warpgroups, extent, k) of an operand in shared memory."""
    units = tile.units(wave)
    values = tile.element.open(tile.cells(wave, units))
    if shadows.shared is None:
        return lift(values)
    places = (units[..., None] + 2 * np.arange(8)) // shadows.flow.granule
    if not tile.along_k:
        places = places.transpose(0, 1, 3, 2)
    return payload_of(shadows.shared[:, places.reshape(values.shape)], values)
