"""`wmma`: fragments of opaque layout, loaded, multiplied and stored by a warp (PTX ISA, 9.7.14.4).

`nvcuda::wmma` compiles to these. Which lane holds which element is this device's own choice, as it is a GPU's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kernel_gate.emulated.access import Access, Located, Purpose, access
from kernel_gate.emulated.addresses import SEGMENT_BITS, SHARED_WINDOW
from kernel_gate.emulated.instructions.load_store import check_initialised, put, record_read
from kernel_gate.emulated.instructions.mma import shape_of, warp_product
from kernel_gate.emulated.matrices.elements import ELEMENTS
from kernel_gate.emulated.matrices.fragments import Fragment, accumulator, left, right
from kernel_gate.emulated.matrices.product import ACCUMULATORS
from kernel_gate.emulated.matrices.registers import (
    need_whole_warps,
    read_words,
    readers,
    width,
    write_cells,
    writers,
)
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.types import TYPES, UNSIGNED, Array
from kernel_gate.emulated.wave import Wave
from kernel_gate.program import WARP


@opcode("wmma")
def warp_matrix(site: Site) -> Step:
    """`wmma.load.a/b/c`, `wmma.mma`, `wmma.store.d`."""
    if site.has("load"):
        return _load(site)
    if site.has("store"):
        return _store(site)
    return _multiply(site)


def _multiply(site: Site) -> Step:
    names = [p for p in site.parts if p in ELEMENTS or p in ACCUMULATORS]
    if len(names) == 2:
        # Halves are not named: `.f32.f32` is D and C.
        names[1:1] = ["f16", "f16"]
    if not site.has("mma") or len(names) != 4:
        raise site.unsupported()
    m, n, k = shape_of(site)
    a, b = ELEMENTS[names[1]], ELEMENTS[names[2]]
    word = 8 * width(site, site.operand(1)).size
    fragments = (
        left(m, k, word // a.bits, len(items(site.operand(1)))),
        right(k, n, word // b.bits, len(items(site.operand(2)))),
    )
    results = ACCUMULATORS[names[0]], ACCUMULATORS[names[3]]
    return warp_product(site, (a, b), results, fragments, (m, n))


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring elements of one register of each lane, reached in one access."""

    register: int
    first: int
    """Element of the register."""
    count: int
    row: Array
    column: Array
    """Row and column of the first element, by lane."""


_ALIGNMENT = 16
"""Bytes. The programming guide asks for 32; a GPU refuses what its widest loads cannot reach."""


@dataclass(frozen=True)
class Tile:
    """A matrix in memory and its fragment."""

    fragment: Fragment
    bits: int
    by_rows: bool
    base: Read
    stride: Read | None
    """Elements from row to row (column to column); None: the matrix lies dense."""
    where: Access

    def need_alignment(self, wave: Wave) -> None:
        """Stop at a matrix that does not start at a multiple of 16 bytes."""
        base = wave.spread(self.base(wave))
        past = base & (_ALIGNMENT - 1)
        if past.any():
            at = int(np.argmax(past))
            in_shared = self.where.space == "shared" or int(base[at]) >> SEGMENT_BITS == SHARED_WINDOW
            words, where = (
                ("shared memory", {})
                if in_shared
                else wave.launch.space.describe(int(base[at]), self.where.element.size)
            )
            by = f"{int(past[at])} bytes past a multiple of {_ALIGNMENT}"
            message = f"misaligned: a matrix of wmma starts at {words}, {by}"
            raise wave.stop("misaligned", message, self.where.instruction, at, **where)

    def runs(self) -> Iterator[Run]:
        """Every element once: whole registers where memory holds them together."""
        fragment = self.fragment
        needed = max(fragment.rows * fragment.columns // WARP // fragment.per_register, 1)
        fast = fragment.column if self.by_rows else fragment.row
        together = fragment.per_register > 1 and bool((np.diff(fast, axis=2) == 1).all())
        if self.bits < 8:
            together = True
        step = fragment.per_register if together else 1
        for register in range(needed):
            for first in range(0, fragment.per_register, step):
                row, column = (f[register, :, first] for f in (fragment.row, fragment.column))
                yield Run(register, first, step, row, column)

    def access(self, run: Run) -> Access:
        """The access of a run."""
        nbytes = run.count * self.bits // 8
        dense = self.fragment.columns if self.by_rows else self.fragment.rows
        slow, fast = (run.row, run.column) if self.by_rows else (run.column, run.row)

        def address(wave: Wave) -> Array:
            lanes = wave.lane[wave.index]
            stride = dense if self.stride is None else np.asarray(self.stride(wave)).astype(np.int64)
            offset = (slow[lanes] * stride + fast[lanes]) * self.bits // 8
            base = wave.spread(self.base(wave))
            result: Array = base + offset.astype(base.dtype)
            return result

        return replace(self.where, element=TYPES[f"b{8 * nbytes}"], vector=1, address=address)


def tile_of(site: Site, memory: int, registers: int, stride: int, purpose: Purpose) -> Tile:
    """The matrix that a `wmma.load` or `wmma.store` moves, from the positions of its operands."""
    m, n, k = shape_of(site)
    name = next((p for p in site.parts if p in ELEMENTS or p in ACCUMULATORS), "")
    role = site.parts[2]
    word = 8 * width(site, site.operand(registers)).size
    count = len(items(site.operand(registers)))
    if role in ("c", "d"):
        bits = 8 * ACCUMULATORS[name].dtype.itemsize
        fragment = accumulator(m, n, word // bits)
    else:
        bits = ELEMENTS[name].bits
        build, extent = (left, (m, k)) if role == "a" else (right, (k, n))
        fragment = build(*extent, word // bits, count)
    if fragment.registers != count or not site.has("row", "col"):
        raise site.unsupported()
    where = access(site, memory, purpose, TYPES["b8"])
    pitch = site.read(stride, TYPES["u32"]) if site.operand_count > stride else None
    return Tile(fragment, bits, site.has("row"), where.address, pitch, where)


def _load(site: Site) -> Step:
    writes = writers(site, 0)
    tile = tile_of(site, 1, 0, 2, "read")
    runs = [(run, tile.access(run)) for run in tile.runs()]
    word = width(site, site.operand(0)).size

    def step(wave: Wave) -> None:
        need_whole_warps(wave, site)
        tile.need_alignment(wave)
        threads = wave.index
        per_register = tile.fragment.per_register if tile.bits >= 8 else 1
        cell = UNSIGNED[word // per_register]
        cells = np.zeros((len(writes), len(threads), per_register), cell)
        for run, where in runs:

            def do(inner: Wave, at: Located, run: Run = run, where: Access = where) -> None:
                if at.written is not None and inner.launch.checks.uninitialised:
                    check_initialised(inner, where, at)
                if inner.launch.checks.races:
                    record_read(inner, where, at, ordered=False)
                here = np.searchsorted(threads, inner.index)
                elements = at.cells[inner.spread(at.index)]
                into = cells[run.register].view(elements.dtype)
                into[here, run.first * cell.itemsize // elements.itemsize] = elements

            where.perform(wave, do)
        used = len({run.register for run, _ in runs})
        for copy in range(used, len(writes)):
            cells[copy] = cells[copy % used]
        write_cells(wave, writes, cells.reshape(len(writes), -1, WARP, per_register))

    return step


def _store(site: Site) -> Step:
    reads = readers(site, 1)
    tile = tile_of(site, 0, 1, 2, "write")
    runs = [(run, tile.access(run)) for run in tile.runs()]

    def step(wave: Wave) -> None:
        need_whole_warps(wave, site)
        tile.need_alignment(wave)
        threads = wave.index
        words = read_words(wave, reads).reshape(len(reads), -1)
        for run, where in runs:
            cells = words[run.register].view(where.element.raw)
            per_word = len(cells) // len(threads)
            values = cells.reshape(-1, per_word)[:, run.first if per_word > 1 else 0]

            def value(inner: Wave, values: Array = values) -> Array:
                elements: Array = values[np.searchsorted(threads, inner.index)]
                return elements

            def do(inner: Wave, at: Located, where: Access = where, value: Read = value) -> None:
                put(inner, where, at, (value,), ordered=False)

            where.perform(wave, do)

    return step
