"""`wgmma`: products of 64 × N by a warpgroup, which is four warps (PTX ISA, 9.7.15).

What a product is: `matrices.product`.
`wgmma.fence` changes nothing: registers and memory are coherent here, so a fence that is missing is not noticed.
Sparse products and descriptors with a base offset are not supported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernel_gate.emulated.instructions.mma import shape_of
from kernel_gate.emulated.matrices import descriptor
from kernel_gate.emulated.matrices.elements import ELEMENTS, Element, cells_of
from kernel_gate.emulated.matrices.fragments import accumulator, left
from kernel_gate.emulated.matrices.product import ACCUMULATORS
from kernel_gate.emulated.matrices.registers import read_words, readers, write_cells, writers
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.ptx.model import Group, Integer, Register
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.warpgroup import Product
from kernel_gate.emulated.wave import Index, Wave
from kernel_gate.program import WARP

_ROWS = 64
_GROUP = 4 * WARP


@opcode("wgmma")
def warpgroup_matrix(site: Site) -> Step:
    """`wgmma.mma_async`, `wgmma.fence`, `wgmma.commit_group`, `wgmma.wait_group`."""
    if site.has("fence"):
        return lambda _wave: None
    if site.has("commit_group"):
        return lambda wave: wave.products.commit(wave)
    if site.has("wait_group"):
        allowed = site.operand(0)
        if not isinstance(allowed, Integer):
            raise site.unsupported()
        return lambda wave: wave.products.wait(wave, allowed.value)
    if site.parts[1:3] != ("mma_async", "sync"):
        raise site.unsupported()
    return _multiply(site)


_Operand = Callable[[Wave], tuple[Array, list[tuple[Index, Index]]]]
"""(warpgroups, extent, k) in float64, and what was read of shared memory: threads that stand for it, first bytes."""


@dataclass(frozen=True, slots=True)
class Factors:
    """What an instruction multiplies: the type of the sums, and both operands; A is None where registers hold it."""

    sums: str
    a: Tile | None
    b: Tile
    kind: Element
    """The element type of A."""
    columns: int
    k: int
    sign: float


def factors_of(site: Site) -> Factors:
    """Types, shapes and layouts that an instruction names. Raises for what is not supported."""
    names = [p for p in site.parts if p in ELEMENTS or p in ACCUMULATORS]
    m, n, k = shape_of(site)
    if m != _ROWS or len(names) != 3 or names[0] not in ACCUMULATORS:
        raise site.unsupported()
    a, b = ELEMENTS[names[1]], ELEMENTS[names[2]]
    flags = [_literal(site, position) for position in range(4, site.operand_count)]
    scales = flags[:2] if not a.integral else []
    turns = flags[2:] if not a.integral else []
    in_registers = isinstance(site.operand(1), Group)
    # 16-bit types say for each operand in memory whether it is turned; others never are.
    turn_a, turn_b = (0, *(turns or (0,))) if in_registers else (turns or (0, 0))
    first = None if in_registers else Tile.of(site, 1, a, (_ROWS, k), turn_a == 0)
    sign = float(np.prod(scales)) if scales else 1.0
    return Factors(names[0], first, Tile.of(site, 2, b, (n, k), turn_b == 0), a, n, k, sign)


def _multiply(site: Site) -> Step:
    factors = factors_of(site)
    d, n, sign = ACCUMULATORS[factors.sums], factors.columns, factors.sign
    read_a = factors.a.read if factors.a is not None else _from_registers(site, factors.kind, factors.k)
    read_b = factors.b.read
    writes, read_d = writers(site, 0), readers(site, 0)
    fragment = accumulator(16, n, 2 if d.name == "f16" else 1)
    if fragment.registers != len(writes):
        raise site.unsupported()
    adds = site.read(3, TYPES["pred"])
    names_of_d = (i.name for i in items(site.operand(0)) if isinstance(i, Register))
    registers = frozenset(site.layout.registers[name] for name in names_of_d)
    saturate = site.has("satfinite")

    def step(wave: Wave) -> None:
        _need_whole_warpgroups(wave, site)
        x, tile_a = read_a(wave)
        y, tile_b = read_b(wave)
        total = sign * np.matmul(x, y.transpose(0, 2, 1))
        keep = wave.spread(adds(wave)).reshape(-1, _GROUP)[:, 0]
        if keep.any():
            words = read_words(wave, read_d)
            before = d.wide(fragment.gather(words.view(d.dtype).reshape(*words.shape, -1)))
            before = before.reshape(total.shape)
            total += before if keep.all() else np.where(keep[:, None, None], before, 0)
        result = d.narrow(total, saturate).reshape(-1, 16, n)
        write_cells(wave, writes, fragment.scatter(result))
        groups = wave.products.committed[wave.index]
        tiles = [*tile_a, *tile_b]
        wave.products.issue(wave, Product(wave.index, groups, site.instruction, registers, tiles))

    return step


def _literal(site: Site, position: int) -> int:
    operand = site.operand(position)
    if not isinstance(operand, Integer):
        raise site.unsupported()
    return operand.value


def _need_whole_warpgroups(wave: Wave, site: Site) -> None:
    inner = wave.thread_in_block[wave.index]
    whole = len(inner) % _GROUP == 0
    if whole:
        rows = inner.reshape(-1, _GROUP)
        whole = bool((rows[:, 0] % _GROUP == 0).all() and (np.diff(rows, axis=1) == 1).all())
    if not whole:
        message = "wgmma needs all 128 threads of its warpgroups; some are elsewhere: the result is undefined"
        raise wave.stop("barrier", message, site.instruction)


def _from_registers(site: Site, a: Element, k: int) -> _Operand:
    reads = readers(site, 1)
    fragment = left(16, k, 32 // a.bits)
    if fragment.registers != len(reads):
        raise site.unsupported()

    def read(wave: Wave) -> tuple[Array, list[tuple[Index, Index]]]:
        cells = fragment.gather(cells_of(read_words(wave, reads), a))
        return a.open(cells).reshape(-1, _ROWS, k), []

    return read


@dataclass(frozen=True, slots=True)
class Tile:
    """An operand in shared memory."""

    site: Site
    words: Read
    """Reads the descriptor."""
    element: Element
    extent: int
    k: int
    along_k: bool

    @classmethod
    def of(cls, site: Site, position: int, element: Element, shape: tuple[int, int], along_k: bool) -> Tile:
        """The operand at a position of an instruction, `shape[0]` rows or columns by `shape[1]`."""
        if not along_k and element.bits != 16:
            raise site.unsupported()
        return cls(site, site.read(position, TYPES["b64"]), element, *shape, along_k)

    def units(self, wave: Wave) -> Index:
        """First bytes of the units in the wave's shared memory: (warpgroups, …, …), as `descriptor.units` has them."""
        site, shared = self.site, wave.shared
        layout = descriptor.decode(wave.spread(self.words(wave)).reshape(-1, _GROUP)[:, 0])
        if layout is None or layout.base.any():
            raise wave.stop("unsupported", "unsupported: wgmma with a matrix base offset", site.instruction)
        places = descriptor.units(layout, self.extent, self.k, self.element.bits // 8, self.along_k)
        ends = places.reshape(len(places), -1).max(axis=1) + descriptor.UNIT
        if (ends > shared.nbytes).any():
            position = int(np.argmax(ends > shared.nbytes))
            message = (
                f"out of bounds: a tile of wgmma reaches byte {int(ends[position])} of "
                f"{shared.nbytes} bytes of shared memory"
            )
            raise wave.stop("out_of_bounds", message, site.instruction, position * _GROUP)
        blocks: Index = wave.block_of[wave.index[::_GROUP]]
        return places + (blocks * shared.stride)[:, None, None]

    def cells(self, wave: Wave, units: Index) -> Array:
        """(warpgroups, extent, k), as they are stored."""
        data = wave.shared.data.reshape(-1, descriptor.UNIT)[units // descriptor.UNIT]
        return descriptor.elements(data, self.along_k, self.element.cell)

    def read(self, wave: Wave) -> tuple[Array, list[tuple[Index, Index]]]:
        """The operand's values, and what was read."""
        units = self.units(wave)
        # Any thread may stand for a read; not the one that is likely to have written it.
        count = units[0].size
        standing = wave.index[::_GROUP][:, None] + (np.arange(count) + _GROUP // 2) % _GROUP
        if wave.launch.checks.uninitialised:
            wave.shared.check_written(
                wave, standing.ravel(), units.ravel(), descriptor.UNIT, self.site.instruction
            )
        return self.element.open(self.cells(wave, units)), [(standing.ravel(), units.ravel())]
