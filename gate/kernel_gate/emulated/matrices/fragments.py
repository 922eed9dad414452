"""Where the elements of a matrix lie in the registers of a warp.

Lanes form 8 groups of 4. Sources: PTX ISA "Matrix Fragments for mma" (the figures of every shape and
type follow one rule, `_multiplicand` and `accumulator`), and the same for wgmma, which stacks four warps. The fragments
of `wmma` are opaque to programs (); here they have the order of `mma`'s, repeated where a fragment has more
registers than the matrix has elements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from kernel_gate.emulated.types import Array
from kernel_gate.emulated.wave import Index
from kernel_gate.program import WARP


@dataclass(frozen=True)
class Fragment:
    """A matrix of `rows` × `columns` in the registers of one warp."""

    rows: int
    columns: int
    row: Index
    """(registers, 32 lanes, elements of a register): row of the element."""
    column: Index

    @property
    def registers(self) -> int:
        """Registers of one lane."""
        return int(self.row.shape[0])

    @property
    def per_register(self) -> int:
        """Elements of one register."""
        return int(self.row.shape[2])

    def gather(self, cells: Array) -> Array:
        """(registers, warps, 32, elements) → (warps, rows, columns)."""
        flat = cells.transpose(1, 0, 2, 3).reshape(cells.shape[1], -1)
        return flat[:, _places(self)]

    def scatter(self, matrices: Array) -> Array:
        """(warps, rows, columns) → (registers, warps, 32, elements)."""
        flat = matrices.reshape(len(matrices), -1)
        return flat[:, self.row * self.columns + self.column].transpose(1, 0, 2, 3)


def _places(fragment: Fragment) -> Index:
    """(rows, columns): position of each element among the registers, lanes and elements of a warp."""
    place = np.zeros((fragment.rows, fragment.columns), np.int64)
    # Reversed, so that of repeated elements the first one counts.
    place[fragment.row.ravel()[::-1], fragment.column.ravel()[::-1]] = np.arange(fragment.row.size)[::-1]
    return place


def _axes(registers: int, per_register: int) -> tuple[Index, Index, Index]:
    """Register, lane and element as three axes."""
    axes = np.ogrid[:registers, :WARP, :per_register]
    return axes[0], axes[1], axes[2]


def _build(
    rows: int,
    columns: int,
    shape: tuple[int, int],
    rule: Callable[[Index, Index, Index], tuple[Index, Index]],
) -> Fragment:
    row, column = np.broadcast_arrays(*rule(*_axes(*shape)))
    return Fragment(rows, columns, row.copy(), column.copy())


def _multiplicand(rows: int, k: int, per_register: int, repeats: int = 1) -> Fragment:
    """Group g holds row g (and g + 8, …); lane t of it the t-th run of `per_register` neighbours along k."""
    halves, span = max(rows // 8, 1), 4 * per_register
    registers = halves * (k // span)

    def rule(register: Index, lane: Index, element: Index) -> tuple[Index, Index]:
        register = register % registers
        row = lane // 4 + 8 * (register % halves)
        return row, lane % 4 * per_register + element + register // halves * span

    return _build(rows, k, (registers * repeats, per_register), rule)


@cache
def left(rows: int, k: int, per_register: int, registers: int | None = None) -> Fragment:
    """A, rows × k. `registers`: how many a lane has, when the fragment repeats its elements."""
    fragment = _multiplicand(rows, k, per_register)
    if registers is None or registers == fragment.registers:
        return fragment
    return _multiplicand(rows, k, per_register, registers // fragment.registers)


@cache
def right(k: int, columns: int, per_register: int, registers: int | None = None) -> Fragment:
    """B, k × columns: the transpose of an A with `columns` rows."""
    turned = left(columns, k, per_register, registers)
    return Fragment(k, columns, turned.column, turned.row)


@cache
def accumulator(rows: int, columns: int, per_register: int) -> Fragment:
    """C and D: each lane holds pairs of neighbours of a row; of 8 columns first rows 0 … 7, then 8 … 15."""
    halves, pair = max(rows // 8, 1), 2

    def rule(register: Index, lane: Index, element: Index) -> tuple[Index, Index]:
        at = register * per_register + element
        tile, half = at // (pair * halves), at // pair % halves
        return lane // 4 + 8 * half, lane % 4 * 2 + at % pair + 8 * tile

    registers = rows * columns // WARP // per_register
    return _build(rows, columns, (registers, per_register), rule)
