"""Floating-point formats as arithmetic sees them: bits in registers, values in a carrier type.

f32 and f64 are NumPy's own. f16 is computed in float32 and bf16 in float32 too, then rounded: the carrier has more
than twice the bits plus two, so add, subtract, multiply, divide and square root are correctly rounded (Figueroa,
"When is double rounding innocuous?", 1995). Fused operations use the next wider carrier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_gate.emulated.rounding import to_odd
from kernel_gate.emulated.types import (
    TYPES,
    Array,
    PtxType,
    bf16_to_f32,
    f32_to_bf16,
    flush_subnormals,
)

_NAN_F16 = np.uint16(0x7FFF).view(np.float16)
_NAN_F32 = np.uint32(0x7FFFFFFF).view(np.float32)
_NAN_OF_HOST = np.uint32(0x7FC00000)
"""Without its sign, which depends on the operation."""


@dataclass(frozen=True, slots=True)
class Format:
    """How one element type is opened for arithmetic and closed again."""

    kind: PtxType
    """The element: of `bf16x2` it is `bf16`."""
    lanes: int
    """2 for packed types."""
    open: Callable[[Array], Array]
    """Bits → values of the carrier."""
    close: Callable[[Array], Array]
    """Values of the carrier, rounded to nearest even → bits."""
    close_wide: Callable[[Array], Array]
    """float64 values, rounded once → bits."""


def _same(values: Array) -> Array:
    return values


def _narrow(dtype: Any) -> Callable[[Array], Array]:
    return lambda values: np.asarray(values).astype(dtype)


def f64_to_bf16(values: Array) -> Array:
    """float64 as bfloat16 bits, rounded once: float32 is reached by rounding to odd, which leaves the tie visible."""
    values = np.asarray(values, np.float64)
    nearest = values.astype(np.float32)
    wide = nearest.astype(np.float64)
    bits = nearest.view(np.uint32)
    inexact = (wide != values) & np.isfinite(nearest)
    bits = np.where(inexact & (np.abs(wide) > np.abs(values)), bits - np.uint32(1), bits)
    return f32_to_bf16(np.where(inexact, bits | np.uint32(1), bits).view(np.float32))


def close_exact(form: Format, value: Array, error: Array) -> Array:
    """A float64 and what it lacks → bits, rounded once to nearest even."""
    return value if form.kind.name == "f64" else form.close_wide(to_odd(value, error))


def _to_f16(values: Array) -> Array:
    """Rounded to nearest even; NaN becomes the canonical 0x7FFF, as on the hardware."""
    narrow = np.asarray(values).astype(np.float16)
    return np.where(np.isnan(narrow), _NAN_F16, narrow) if np.isnan(narrow).any() else narrow


def to_f32(values: Array) -> Array:
    """Rounded to nearest even; the NaN that the host makes becomes the hardware's own, 0x7FFFFFFF.

    Threads that come to it in different ways, and write it to one place, would seem to race otherwise. Others stay
    what they are: the ones that memory is poisoned with tell what was never written.
    """
    single = np.asarray(values).astype(np.float32, copy=False)
    # NaN where an element is one: quicker than to ask each.
    total = single.dot(single) if single.ndim == 1 else np.vdot(single, single)
    if total == total:
        return single
    is_of_host = (single.view(np.uint32) & np.uint32(0x7FFFFFFF)) == _NAN_OF_HOST
    return np.where(is_of_host, _NAN_F32, single)


FORMATS: dict[str, Format] = {
    "f64": Format(TYPES["f64"], 1, _same, _same, _same),
    "f32": Format(TYPES["f32"], 1, _same, to_f32, to_f32),
    "f16": Format(TYPES["f16"], 1, _narrow(np.float32), _to_f16, _to_f16),
    "bf16": Format(TYPES["bf16"], 1, bf16_to_f32, f32_to_bf16, f64_to_bf16),
}
FORMATS["f16x2"] = Format(
    TYPES["f16"], 2, *(getattr(FORMATS["f16"], n) for n in ("open", "close", "close_wide"))
)
FORMATS["bf16x2"] = Format(
    TYPES["bf16"], 2, *(getattr(FORMATS["bf16"], n) for n in ("open", "close", "close_wide"))
)


def opened(value: Array, kind: PtxType) -> list[Array]:
    """Values of a register in the carrier; of a packed one the lower half and the upper."""
    form = FORMATS[kind.name]
    halves = [value] if form.lanes == 1 else unpack(value)
    return [np.asarray(form.open(np.asarray(half).view(form.kind.dtype))) for half in halves]


def unpack(bits: Array) -> tuple[Array, Array]:
    """The lower and the upper half of 32-bit words."""
    words = np.asarray(bits).view(np.uint32)
    return (words & np.uint32(0xFFFF)).astype(np.uint16), (words >> np.uint32(16)).astype(np.uint16)


def pack(low: Array, high: Array) -> Array:
    """32-bit words of two halves."""
    return np.asarray(low).view(np.uint16).astype(np.uint32) | (
        np.asarray(high).view(np.uint16).astype(np.uint32) << np.uint32(16)
    )


def elementwise(kind: PtxType, compute: Callable[..., Array], flush: bool = False) -> Callable[..., Array]:
    """Lift a function over carrier values to registers of a type, both halves of a packed one."""
    form = FORMATS[kind.name]
    smallest = float(np.finfo(np.float64 if kind.name == "f64" else np.float32).tiny)

    def on_element(*operands: Array) -> Array:
        values = [form.open(np.asarray(o).view(form.kind.dtype)) for o in operands]
        if flush:
            values = [flush_subnormals(v, smallest) for v in values]
        result = compute(*values)
        return form.close(flush_subnormals(result, smallest) if flush else result)

    if form.lanes == 1 and form.open is _same and not flush:
        return compute if form.close is _same else lambda *operands: form.close(compute(*operands))
    if form.lanes == 1:
        return on_element

    def on_pair(*operands: Array) -> Array:
        halves = [unpack(o) for o in operands]
        return pack(on_element(*(h[0] for h in halves)), on_element(*(h[1] for h in halves)))

    return on_pair
