"""How tags go through products of matrices: `mma.sync` and `wmma.mma`, and `wmma.load` into their fragments.

An element of D has what went into its row of A, its column of B and its element of C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernel_gate.emulated.instructions.mma import shape_of
from kernel_gate.emulated.instructions.wmma import tile_of
from kernel_gate.emulated.matrices.elements import ELEMENTS
from kernel_gate.emulated.matrices.fragments import Fragment, accumulator, left, right
from kernel_gate.emulated.matrices.product import ACCUMULATORS
from kernel_gate.emulated.matrices.registers import width
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.ptx.model import Operand
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags.keys import UNTAGGED, Keys
from kernel_gate.emulated.tags.memory import Look as StoreLook
from kernel_gate.emulated.tags.memory import read, write
from kernel_gate.emulated.tags.shadows import Shadows, around
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave
from kernel_gate.program import WARP

Look = Callable[[Wave, Keys, Keys], None]
"""What an assertion looks at: the tags of A (width, warps, m, k) and of B (width, warps, k, n)."""


@dataclass(frozen=True, slots=True)
class Product:
    """Fragments of the four matrices of an instruction."""

    d: Fragment
    a: Fragment
    b: Fragment
    c: Fragment


def product_of(site: Site) -> Product | None:
    """None for the shapes whose fragments lie otherwise (`mma.m8n8k4` of halves, sparse ones)."""
    names = [p for p in site.parts if p in ELEMENTS or p in ACCUMULATORS]
    if site.parts[0] == "wmma" and len(names) == 2:
        names[1:1] = ["f16", "f16"]
    if len(names) != 4:
        return None
    m, n, k = shape_of(site)
    if (m, n, k) == (8, 8, 4) and names[1] == "f16" and site.parts[0] == "mma":
        return None
    a, b = ELEMENTS[names[1]], ELEMENTS[names[2]]
    word = 8 * width(site, site.operand(1)).size
    counts = [len(items(site.operand(position))) for position in range(4)]
    d, c = (accumulator(m, n, 2 if name == "f16" else 1) for name in (names[0], names[3]))
    product = Product(d, left(m, k, word // a.bits, counts[1]), right(k, n, word // b.bits, counts[2]), c)
    return product if [d.registers, c.registers] == [counts[0], counts[3]] else None


def multiply(shadows: Shadows, site: Site, look: Look | None) -> Wrap | None:
    """`mma.sync` and `wmma.mma`; None where tags are not followed through them."""
    product = product_of(site)
    if product is None:
        return None
    operands = [items(site.operand(position)) for position in range(4)]

    def watch(wave: Wave) -> Iterator[None]:
        a = _gather(shadows, wave, operands[1], product.a)
        b = _gather(shadows, wave, operands[2], product.b)
        c = _gather(shadows, wave, operands[3], product.c)
        yield
        if look is not None:
            look(wave, a, b)
        if shadows.follows(site.operand(0)):
            d = np.minimum(np.minimum(a.min(axis=3)[..., None], b.min(axis=2)[:, :, None]), c)
            scatter(shadows, wave, site, operands[0], product.d, d)

    return around(shadows, watch)


def _gather(shadows: Shadows, wave: Wave, registers: Sequence[Operand], fragment: Fragment) -> Keys:
    """(width, warps, rows, columns)."""
    elements = fragment.per_register
    cells = []
    for register in registers:
        tags = shadows.get(wave, register)
        full = shadows.filled(wave, tags, tags.shape[1] if tags is not None else shadows.lanes(4))
        lanes = full.shape[1]
        if lanes >= elements:
            full = full.reshape(len(full), elements, lanes // elements, -1).min(axis=2)
        else:
            full = np.repeat(full, elements // lanes, axis=1)
        cells.append(full)
    stacked = np.stack(cells, axis=1)  # (width, registers, elements, threads)
    parts = stacked.reshape(*stacked.shape[:3], -1, WARP).transpose(0, 1, 3, 4, 2)
    return np.stack([fragment.gather(np.ascontiguousarray(part)) for part in parts])


def scatter(
    shadows: Shadows, wave: Wave, site: Site, registers: Sequence[Operand], fragment: Fragment, tags: Keys
) -> None:
    """Give the registers of a fragment the tags of a matrix: (width, warps, rows, columns)."""
    cells = np.stack([fragment.scatter(matrices) for matrices in tags])
    # (width, registers, warps, 32, elements) → each register's lanes.
    for position, register in enumerate(registers):
        own = cells[:, position].transpose(0, 3, 1, 2).reshape(len(tags), fragment.per_register, -1)
        kind = site.register_type(register)
        lanes = shadows.lanes(kind.size if kind is not None else 4)
        if lanes >= own.shape[1]:
            own = np.repeat(own, lanes // own.shape[1], axis=1)
        else:
            own = own.reshape(len(own), lanes, -1, own.shape[2]).min(axis=2)
        shadows.put(wave, site, register, own if (own[::2] != UNTAGGED).any() else None)


def load_fragment(shadows: Shadows, site: Site) -> Wrap | None:
    """`wmma.load`: each run of elements from where it lies."""
    targets = items(site.operand(0))
    if not shadows.follows(site.operand(0)):
        return None
    tile = tile_of(site, 1, 0, 2, "read")
    if tile.bits < 8:
        return None
    runs = [(run, replace(tile.access(run), counted=False)) for run in tile.runs()]

    def watch(wave: Wave) -> Iterator[None]:
        by_register: dict[int, Keys] = {}
        elements = tile.fragment.per_register
        for run, where in runs:
            tags = read(shadows, wave, where)
            if tags is None:
                continue
            full = by_register.setdefault(
                run.register,
                np.full((len(tags), shadows.lanes(elements * tile.bits // 8), wave.active_count), UNTAGGED),
            )
            lanes = full.shape[1] // elements * run.count or 1
            first = full.shape[1] // elements * run.first
            full[:, first : first + lanes] = tags if lanes == tags.shape[1] else tags[:, :1]
        yield
        used = len({run.register for run, _ in runs})
        for position, target in enumerate(targets):
            shadows.put(wave, site, target, by_register.get(position % used))

    return around(shadows, watch)


def store_fragment(shadows: Shadows, site: Site, look: StoreLook | None) -> Wrap | None:
    """`wmma.store`: each run of elements to where it lies; None where tags are not followed through it."""
    sources = items(site.operand(1))
    tile = tile_of(site, 0, 1, 2, "read")
    if tile.bits < 8:
        return None
    runs = [(run, replace(tile.access(run), counted=False)) for run in tile.runs()]
    lanes = shadows.lanes(tile.bits // 8)

    def watch(wave: Wave) -> Iterator[None]:
        yield
        for run, where in runs:
            tags = shadows.get(wave, sources[run.register])
            part = None if tags is None else tags[:, run.first * lanes : (run.first + run.count) * lanes]
            write(shadows, wave, where, part, look)

    return around(shadows, watch)
