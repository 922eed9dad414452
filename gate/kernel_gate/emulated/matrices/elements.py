"""Element types of matrices: bits in registers or memory → float64, which holds each of their values exactly.

Source: PTX ISA (alternate floating-point formats).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_gate.emulated.types import UNSIGNED, Array, bf16_to_f32
from kernel_gate.small_floats import BY_PTX_NAME

_TF32_MASK = np.uint32(0xFFFFE000)


@dataclass(frozen=True, slots=True)
class Element:
    """One type of a multiplicand."""

    name: str
    bits: int
    integral: bool
    open: Callable[[Array], Array]
    """Unsigned cells of `cell` → float64. Types narrower than a byte come one to a cell."""

    @property
    def cell(self) -> np.dtype[Any]:
        """The unsigned dtype that holds one element."""
        return UNSIGNED[max(self.bits // 8, 1)]


def _half(cells: Array) -> Array:
    return cells.view(np.float16).astype(np.float64)


def _bfloat(cells: Array) -> Array:
    return bf16_to_f32(cells).astype(np.float64)


def _tf32(cells: Array) -> Array:
    """The lower 13 bits are not looked at, as on the hardware (PTX ISA, `.tf32` operands)."""
    return (cells & _TF32_MASK).view(np.float32).astype(np.float64)


def _double(cells: Array) -> Array:
    return cells.view(np.float64)


def _integer(dtype: Any) -> Callable[[Array], Array]:
    return lambda cells: cells.view(dtype).astype(np.float64)


def _nibble(cells: Array) -> Array:
    """Four-bit two's complement."""
    return ((cells ^ 8).astype(np.int16) - 8).astype(np.float64)


_ALL = (
    Element("f16", 16, False, _half),
    Element("bf16", 16, False, _bfloat),
    Element("tf32", 32, False, _tf32),
    Element("f64", 64, False, _double),
    Element("e4m3", 8, False, BY_PTX_NAME["e4m3"].decode),
    Element("e5m2", 8, False, BY_PTX_NAME["e5m2"].decode),
    Element("s8", 8, True, _integer(np.int8)),
    Element("u8", 8, True, _integer(np.uint8)),
    Element("s4", 4, True, _nibble),
    Element("u4", 4, True, _integer(np.uint8)),
    Element("b1", 1, True, _integer(np.uint8)),
)
ELEMENTS = {e.name: e for e in _ALL}
"""Every type of a multiplicand, by its PTX name."""


def cells_of(words: Array, element: Element) -> Array:
    """Registers of any shape as the elements in them: one more axis, lowest bits first."""
    words = np.ascontiguousarray(words)
    if element.bits >= 8:
        return words.view(element.cell).reshape(*words.shape, -1)
    octets = words.view(np.uint8).reshape(*words.shape, -1, 1)
    shifts = np.arange(0, 8, element.bits, dtype=np.uint8)
    cells = octets >> shifts & np.uint8((1 << element.bits) - 1)
    return cells.reshape(*words.shape, -1)
