"""8 × 8 matrices of 16-bit elements between shared memory and the registers of a warp.

PTX ISA, `ldmatrix`, `stmatrix`, `movmatrix`. The shapes with 8-bit and
narrower elements (`m16n16`, `m8n16`, `m16n8`) belong to sm_100 and are not supported.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernel_gate.emulated.access import Access, Located, Purpose, access
from kernel_gate.emulated.instructions.load_store import check_initialised, put, record_read
from kernel_gate.emulated.matrices.registers import (
    need_whole_warps,
    read_words,
    readers,
    write_cells,
    writers,
)
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.wave import Wave
from kernel_gate.program import WARP

_ROWS = 8


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows that lanes 0 … 8 · count - 1 name: 16 bytes each, one lane a row."""

    count: int
    """Matrices."""
    where: Access
    site: Site

    def lanes(self, wave: Wave) -> Array:
        """The active threads whose addresses count."""
        threads = wave.index
        return threads if self.count == 4 else threads[wave.lane[threads] < self.count * _ROWS]


def _rows(site: Site, position: int, registers: int, purpose: Purpose) -> _Rows:
    count = {"x1": 1, "x2": 2, "x4": 4}.get(site.first("x1", "x2", "x4") or "")
    if count != registers or not site.has("m8n8") or not site.has("b16"):
        raise site.unsupported()
    return _Rows(count, access(site, position, purpose, TYPES["b64"], 2), site)


@opcode("ldmatrix")
def load_matrices(site: Site) -> Step:
    """`ldmatrix`: lane 8·i + r holds the address of row r of matrix i; each lane gets two elements of each matrix."""
    writes = writers(site, 0)
    rows = _rows(site, 1, len(writes), "read")
    transposed = site.has("trans")

    def step(wave: Wave) -> None:
        need_whole_warps(wave, site)
        blocks = _load(wave, rows)
        if transposed:
            blocks = blocks.transpose(0, 1, 3, 2)
        pairs = blocks.reshape(len(blocks), rows.count, WARP, 2)
        write_cells(wave, writes, pairs.transpose(1, 0, 2, 3))

    return step


def _load(wave: Wave, rows: _Rows) -> Array:
    """(warps, matrices, 8, 8) elements."""
    outer = wave.active
    threads = rows.lanes(wave)
    elements = np.zeros((len(threads), _ROWS), np.uint16)

    def do(inner: Wave, at: Located) -> None:
        checks = inner.launch.checks
        if checks.uninitialised and at.written is not None:
            check_initialised(inner, rows.where, at)
        if checks.races:
            record_read(inner, rows.where, at, ordered=False)
        here = slice(None) if len(inner.index) == len(threads) else np.searchsorted(threads, inner.index)
        index = inner.spread(at.index)
        elements[here] = at.cells.reshape(-1, 2)[index // 2].view(np.uint16)

    wave.active = threads
    rows.where.perform(wave, do)
    wave.active = outer
    return elements.reshape(-1, rows.count, _ROWS, _ROWS)


@opcode("stmatrix")
def store_matrices(site: Site) -> Step:
    """`stmatrix`: the opposite of `ldmatrix`."""
    reads = readers(site, 1)
    rows = _rows(site, 0, len(items(site.operand(1))), "write")
    transposed = site.has("trans")

    def step(wave: Wave) -> None:
        need_whole_warps(wave, site)
        words = read_words(wave, reads).transpose(1, 0, 2)
        blocks = np.ascontiguousarray(words).view(np.uint16).reshape(-1, rows.count, _ROWS, _ROWS)
        if transposed:
            blocks = blocks.transpose(0, 1, 3, 2)
        halves = np.ascontiguousarray(blocks).reshape(-1, _ROWS).view(np.uint64)
        outer = wave.active
        threads = wave.active = rows.lanes(wave)

        def half(part: int) -> Read:
            return lambda inner: halves[np.searchsorted(threads, inner.index), part]

        rows.where.perform(wave, lambda inner, at: put(inner, rows.where, at, (half(0), half(1)), False))
        wave.active = outer

    return step


@opcode("movmatrix")
def transpose_matrix(site: Site) -> Step:
    """`movmatrix.sync.aligned.m8n8.trans.b16`: the transpose of a matrix in the registers of a warp."""
    if not (site.has("m8n8") and site.has("trans") and site.has("b16")):
        raise site.unsupported()
    writes, reads = writers(site, 0), readers(site, 1)

    def step(wave: Wave) -> None:
        need_whole_warps(wave, site)
        blocks = read_words(wave, reads).view(np.uint16).reshape(-1, _ROWS, _ROWS)
        pairs = np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(1, -1, WARP, 2)
        write_cells(wave, writes, pairs)

    return step
