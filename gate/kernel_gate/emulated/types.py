"""PTX's scalar types and how a NumPy array holds them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
"""Values of the active threads: one each, or a scalar when it is the same for all."""

UNSIGNED: dict[int, np.dtype[Any]] = {
    1: np.dtype(np.uint8),
    2: np.dtype(np.uint16),
    4: np.dtype(np.uint32),
    8: np.dtype(np.uint64),
    16: np.dtype("V16"),
}
"""Values of 128 bits are only moved and compared, never computed with."""


@dataclass(frozen=True, slots=True)
class PtxType:
    """One scalar type: `s32`, `bf16x2`, `pred`."""

    name: str
    kind: Literal["int", "uint", "bits", "float", "packed", "lanes", "pred"]
    dtype: np.dtype[Any]
    """How values are held; bf16, packed floats and integer `lanes` are held as bits."""

    @property
    def size(self) -> int:
        """Bytes; a predicate has one."""
        return self.dtype.itemsize

    @property
    def raw(self) -> np.dtype[Any]:
        """The unsigned dtype of the same size."""
        return np.dtype(np.bool_) if self.kind == "pred" else UNSIGNED[self.dtype.itemsize]


def _types() -> dict[str, PtxType]:
    table = [PtxType("pred", "pred", np.dtype(np.bool_))]
    for size, unsigned in UNSIGNED.items():
        bits = 8 * size
        if size == 16:
            table.append(PtxType("b128", "bits", unsigned))
            continue
        table += [
            PtxType(f"u{bits}", "uint", unsigned),
            PtxType(f"s{bits}", "int", np.dtype(f"i{size}")),
            PtxType(f"b{bits}", "bits", unsigned),
        ]
    table += [
        PtxType("f16", "float", np.dtype(np.float16)),
        PtxType("f32", "float", np.dtype(np.float32)),
        PtxType("f64", "float", np.dtype(np.float64)),
        PtxType("bf16", "float", UNSIGNED[2]),
        PtxType("f16x2", "packed", UNSIGNED[4]),
        PtxType("bf16x2", "packed", UNSIGNED[4]),
        PtxType("u16x2", "lanes", UNSIGNED[4]),
        PtxType("s16x2", "lanes", UNSIGNED[4]),
        PtxType("e4m3x2", "packed", UNSIGNED[2]),
        PtxType("e5m2x2", "packed", UNSIGNED[2]),
        PtxType("tf32", "float", UNSIGNED[4]),
    ]
    return {t.name: t for t in table}


TYPES = _types()
"""Every type that the emulated device knows, by its PTX name."""


@cache
def all_ones(dtype: np.dtype[Any]) -> Any:
    """The value of an unsigned dtype, 128 bits included, whose every bit is set."""
    return np.full(dtype.itemsize, 0xFF, np.uint8).view(dtype)[0]


def bf16_to_f32(bits: Array) -> Array:
    """bfloat16 bits as float32, exact."""
    return (np.asarray(bits, np.uint32) << np.uint32(16)).view(np.float32)


def f32_to_bf16(values: Array) -> Array:
    """float32 as bfloat16 bits, rounded to nearest even; NaN becomes the canonical 0x7FFF (PTX ISA, cvt)."""
    values = np.asarray(values, np.float32)
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), rounded.astype(np.uint16))


_SMALLEST_F32 = float(np.finfo(np.float32).tiny)


def flush_subnormals(values: Array, smallest: float = _SMALLEST_F32) -> Array:
    """`.ftz`: what is smaller than the smallest normal number, float32's by default, becomes zero of the same sign."""
    tiny = np.abs(values) < smallest
    return np.where(tiny, np.copysign(np.float32(0), values), values) if np.any(tiny) else values
