"""Element types of matrices: bits in registers or memory → float64, which holds each of their values exactly.

Sources: PTX ISA (alternate floating-point formats); OCP 8-bit floating point specification (OFP8), 2023.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from kernel_gate.emulated.types import UNSIGNED, Array, bf16_to_f32

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


@cache
def _fp8_values(exponent_bits: int) -> Array:
    """The 256 values of E4M3 (4: no infinities, NaN only at all ones) or E5M2 (5: as IEEE 754)."""
    mantissa_bits = 7 - exponent_bits
    bits = np.arange(256)
    exponent, mantissa = bits >> mantissa_bits & (1 << exponent_bits) - 1, bits & (1 << mantissa_bits) - 1
    bias = (1 << exponent_bits - 1) - 1
    fraction = mantissa / (1 << mantissa_bits)
    normal = np.ldexp(1 + fraction, exponent - bias)
    values = np.where(exponent == 0, np.ldexp(fraction, 1 - bias), normal)
    if exponent_bits == 4:
        values[bits & 0x7F == 0x7F] = np.nan
    else:
        top = exponent == 31
        values[top] = np.where(mantissa[top] == 0, np.inf, np.nan)
    result: Array = np.where(bits >= 128, -values, values)
    return result


def _fp8(exponent_bits: int) -> Callable[[Array], Array]:
    return lambda cells: _fp8_values(exponent_bits)[cells]


_ALL = (
    Element("f16", 16, False, _half),
    Element("bf16", 16, False, _bfloat),
    Element("tf32", 32, False, _tf32),
    Element("f64", 64, False, _double),
    Element("e4m3", 8, False, _fp8(4)),
    Element("e5m2", 8, False, _fp8(5)),
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
