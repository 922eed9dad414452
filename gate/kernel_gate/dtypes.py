"""Element types by NumPy's names, and `bfloat16`, which NumPy lacks: kept as its upper 16 bits in `uint16`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class DType:
    """One element type: how it is stored, and how it becomes float64 or integers for comparison."""

    name: str
    storage: np.dtype[Any]
    is_float: bool
    epsilon: float
    """Unit roundoff of rounding to nearest (2^-p for p bits of significand); 0 for exact types."""
    triton: str
    """Triton's name of the type."""

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.storage.itemsize

    def wide(self, array: Array) -> Array:
        """Stored elements as float64, or as themselves for exact types."""
        if not self.is_float:
            return array
        if self.name == "bfloat16":
            return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return array.astype(np.float64)

    def narrow(self, values: Array) -> Array:
        """Values rounded to nearest-even and stored; overflow becomes infinity."""
        if self.name == "bfloat16":
            return _to_bfloat16(values)
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(self.storage)

    def scalar(self, value: float) -> np.generic:
        """One value, stored."""
        result: np.generic = self.narrow(np.asarray([value]))[0]
        return result

    def poison(self, count: int, pattern: int) -> Array:
        """`count` elements that no kernel would compute: NaNs with a payload, or a fixed bit pattern.

        Two patterns exist (0 and 1), so that an element that happens to hold one of them is told by the other.
        """
        if self.is_float:
            bits = _POISON_BITS[self.name][pattern]
            return np.full(count, bits, dtype=f"u{self.itemsize}").view(self.storage)
        if self.name == "bool":
            return np.full(count, pattern, np.uint8).view(self.storage)
        return np.frombuffer(bytes([(0xA5, 0x5A)[pattern]]) * (count * self.itemsize), self.storage).copy()


def _to_bfloat16(values: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
    bits = single.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(single), 0x7FC0, rounded).astype(np.uint16)


_POISON_BITS: dict[str, tuple[int, int]] = {
    "float16": (0x7E5A, 0x7EA5),
    "bfloat16": (0x7FDA, 0x7FE5),
    "float32": (0x7FDEAD01, 0x7FDBEEF2),
    "float64": (0x7FFDEAD0DEAD0001, 0x7FFBEEF0BEEF0002),
}

DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        DType("float64", np.dtype(np.float64), True, 2.0**-53, "fp64"),
        DType("float32", np.dtype(np.float32), True, 2.0**-24, "fp32"),
        DType("float16", np.dtype(np.float16), True, 2.0**-11, "fp16"),
        DType("bfloat16", np.dtype(np.uint16), True, 2.0**-8, "bf16"),
        DType("int64", np.dtype(np.int64), False, 0.0, "i64"),
        DType("int32", np.dtype(np.int32), False, 0.0, "i32"),
        DType("int16", np.dtype(np.int16), False, 0.0, "i16"),
        DType("int8", np.dtype(np.int8), False, 0.0, "i8"),
        DType("uint64", np.dtype(np.uint64), False, 0.0, "u64"),
        DType("uint32", np.dtype(np.uint32), False, 0.0, "u32"),
        DType("uint16", np.dtype(np.uint16), False, 0.0, "u16"),
        DType("uint8", np.dtype(np.uint8), False, 0.0, "u8"),
        DType("bool", np.dtype(np.bool_), False, 0.0, "i1"),
    )
}
