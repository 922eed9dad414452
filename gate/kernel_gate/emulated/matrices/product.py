"""D = A·B + C of small matrices.

Products are exact and summed in float64, C included, then rounded once to D's type: for halves, bfloat16, tf32 and
fp8 that is the sum of a step of K rounded correctly, but for double rounding. Tensor cores align the products of a
step to the largest exponent and cut them, and fp8 sums of wgmma on sm_90 keep about 13 bits, so their bits differ.
The margins used for comparisons, (k + 1) · 2^-22 · Σ|aᵢbᵢ| a step and 2^-12 for fp8, are this project's own and wide,
not a published bound: on an H200 f32 sums used at most 1 % of them and fp8 sums 1.4 % (tests/benchmarks/results,
tensor_cores_h200.json).
Integers are exact: they wrap, or clamp with `.satfinite`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernel_gate.emulated.types import Array

_NAN = {np.dtype(np.float32): 0x7FFFFFFF, np.dtype(np.float16): 0x7FFF}
"""The NaN that tensor cores write (PTX ISA, `mma`: canonical NaN)."""


@dataclass(frozen=True, slots=True)
class Accumulator:
    """The type of C or D."""

    name: str
    dtype: np.dtype[Any]

    def wide(self, cells: Array) -> Array:
        """Cells of C as float64: exact, 32-bit integers too."""
        return cells.view(self.dtype).astype(np.float64)

    def narrow(self, values: Array, saturate: bool) -> Array:
        """float64 sums as D's type."""
        if self.dtype.kind == "i":
            if saturate:
                info = np.iinfo(np.int32)
                return np.clip(values, info.min, info.max).astype(np.int32)
            return values.astype(np.int64).astype(np.int32)
        result = values.astype(self.dtype)
        if self.dtype in _NAN:
            missing = np.isnan(result)
            if missing.any():
                result.view(f"u{self.dtype.itemsize}")[missing] = _NAN[self.dtype]
        return np.asarray(result)


ACCUMULATORS = {
    name: Accumulator(name, np.dtype(dtype))
    for name, dtype in (("f16", np.float16), ("f32", np.float32), ("f64", np.float64), ("s32", np.int32))
}
"""Types of C and D, by their PTX name."""


def dot(a: Array, b: Array) -> Array:
    """(…, m, k) · (…, k, n) in float64."""
    product: Array = np.matmul(a, b)
    return product


def dot_of_bits(combine: Callable[[Any, Any], Any]) -> Callable[[Array, Array], Array]:
    """Binary matrices: how many bits `combine` leaves set along k (PTX ISA, `mma`, `.xor.popc`, `.and.popc`)."""

    def count(a: Array, b: Array) -> Array:
        left, right = a.astype(np.bool_), b.astype(np.bool_)
        together = combine(left[..., :, :, None], right[..., None, :, :])
        return np.asarray(together.sum(axis=-2), np.float64)

    return count
