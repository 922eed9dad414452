"""Element types by NumPy's names, and those that NumPy lacks, kept as bits: `bfloat16` and the 8-bit floats."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.small_floats import E4M3, E5M2, SmallFloat

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
    largest: float
    """The largest finite value."""
    quantum: float
    """The smallest positive value: subnormals of a float, 1 for exact types."""
    poison_bits: tuple[int, int]
    """What outputs hold before a launch: NaNs with a payload where the type has some. Two patterns, with no bit in
    common for exact types, so that an element that happens to hold one of them is told by the other."""
    small: SmallFloat | None = None
    """The tables of an 8-bit float."""

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.storage.itemsize

    @property
    def bits(self) -> np.dtype[Any]:
        """The unsigned type of the same size."""
        return np.dtype(f"u{self.itemsize}")

    @property
    def smallest_normal(self) -> float:
        """The smallest positive value with a whole significand."""
        return self.quantum / (2 * self.epsilon) if self.is_float else 1.0

    def wide(self, array: Array) -> Array:
        """Stored elements as float64, or as themselves for exact types (truth values for `bool`)."""
        if self.name == "bool":
            return array.astype(np.bool_)
        if not self.is_float:
            return array
        if self.small is not None:
            return self.small.decode(array)
        if self.name == "bfloat16":
            return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return array.astype(np.float64, copy=False)

    def narrow(self, values: Array) -> Array:
        """Values rounded to nearest even and stored; overflow becomes infinity (NaN where the type has none)."""
        if self.small is not None:
            return self.small.encode(values)
        if self.name == "bfloat16":
            return _to_bfloat16(values)
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(self.storage, copy=False)

    def stored(self, values: Array) -> Array:
        """The same, of values that may be stored already."""
        return values if values.dtype == self.storage else self.narrow(values)

    def scalar(self, value: float) -> np.generic:
        """One value, stored. Raises `OverflowError` for one that an exact type does not hold."""
        if not self.is_float and not self.holds(value):
            raise OverflowError(f"{value} does not fit into {self.name}")
        result: np.generic = self.narrow(np.asarray([value]))[0]
        return result

    def holds(self, value: float) -> bool:
        """Whether an exact type has this value."""
        low = 0 if self.storage.kind == "u" else -int(self.largest) - 1
        return math.isfinite(value) and value == int(value) and low <= value <= self.largest

    def poison(self, count: int, pattern: int) -> Array:
        """`count` elements of one of the two poison patterns (0 or 1)."""
        return np.full(count, self.poison_bits[pattern], self.bits).view(self.storage)

    def poisoned(self, array: Array, pattern: int) -> npt.NDArray[np.bool_]:
        """Which elements hold a poison pattern, bit for bit."""
        same: npt.NDArray[np.bool_] = array.view(self.bits) == self.bits.type(self.poison_bits[pattern])
        return same


def _to_bfloat16(values: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype(np.float32)
    bits = single.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(single), 0x7FC0, rounded).astype(np.uint16)


def _float(
    name: str, storage: Any, precision: int, least: int, largest: float, triton: str, poison: tuple[int, int]
) -> DType:
    """`precision`: bits of significand; `least`: exponent of the smallest subnormal."""
    small = {"float8_e4m3fn": E4M3, "float8_e5m2": E5M2}.get(name)
    kept = np.dtype(storage)
    return DType(name, kept, True, 2.0**-precision, triton, largest, 2.0**least, poison, small)


def _exact(name: str, triton: str, storage: Any = None, largest: int | None = None) -> DType:
    kept = np.dtype(storage or name)
    most = int(np.iinfo(kept).max) if largest is None else largest
    patterns = (int.from_bytes(bytes([byte]) * kept.itemsize, "little") for byte in (0xA5, 0x5A))
    return DType(name, kept, False, 0.0, triton, most, 1.0, (next(patterns), next(patterns)))


DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        _float("float64", np.float64, 53, -1074, float(np.finfo(np.float64).max), "fp64",
               (0x7FFDEAD0DEAD0001, 0x7FFBEEF0BEEF0002)),
        _float("float32", np.float32, 24, -149, float(np.finfo(np.float32).max), "fp32",
               (0x7FDEAD01, 0x7FDBEEF2)),
        _float("float16", np.float16, 11, -24, 65504.0, "fp16", (0x7E5A, 0x7EA5)),
        _float("bfloat16", np.uint16, 8, -133, 255 * 2.0**120, "bf16", (0x7FDA, 0x7FE5)),
        _float("float8_e4m3fn", np.uint8, 4, -9, 448.0, "fp8e4nv", (0xFF, 0x7F)),
        _float("float8_e5m2", np.uint8, 3, -16, 57344.0, "fp8e5", (0xFE, 0x7D)),
        _exact("int64", "i64"),
        _exact("int32", "i32"),
        _exact("int16", "i16"),
        _exact("int8", "i8"),
        _exact("uint64", "u64"),
        _exact("uint32", "u32"),
        _exact("uint16", "u16"),
        _exact("uint8", "u8"),
        _exact("bool", "i1", np.uint8, 1),
    )
}  # fmt: skip


def rows_of(array: Array) -> Array:
    """Two axes, the last one kept; an array without elements, or of no axes, is one row."""
    return array.reshape(-1, array.shape[-1]) if array.ndim and array.size else array.reshape(1, -1)
