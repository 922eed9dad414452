"""8-bit floating-point formats: exact decoding, and rounding to nearest even from float64 in one step.

E4M3 (no infinity, one NaN of each sign) and E5M2 (IEEE-like) as in Micikevicius et al., "FP8 formats for deep
learning" (2022), which are CUDA's `__nv_fp8_e4m3` and `__nv_fp8_e5m2` and PyTorch's `float8_e4m3fn` and `float8_e5m2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_NAN = 0x7F


@dataclass(frozen=True)
class SmallFloat:
    """One 8-bit format."""

    exponent_bits: int
    mantissa_bits: int
    overflow_code: int
    """Where rounding beyond the largest finite value leads: NaN for E4M3, infinity for E5M2."""
    values: npt.NDArray[np.float64]
    """The value of each of the 256 codes."""
    _midpoints: npt.NDArray[np.float64]
    """Between the values of codes k and k + 1, up to the overflow code."""

    @classmethod
    def of(cls, exponent_bits: int, mantissa_bits: int, overflow_code: int) -> SmallFloat:
        """Tables from the layout. Codes from `overflow_code` on are infinity (if it has no mantissa) and NaN."""
        codes = np.arange(128)
        bias = 2 ** (exponent_bits - 1) - 1
        exponents, mantissas = codes >> mantissa_bits, codes & (2**mantissa_bits - 1)
        significands = np.where(exponents > 0, mantissas + 2**mantissa_bits, mantissas)
        numbers = np.ldexp(significands.astype(np.float64), np.maximum(exponents, 1) - bias - mantissa_bits)
        positive = np.where(codes < overflow_code, numbers, np.nan)
        if overflow_code % 2**mantissa_bits == 0:
            positive[overflow_code] = np.inf
        midpoints = (numbers[:overflow_code] + numbers[1 : overflow_code + 1]) / 2
        return cls(
            exponent_bits, mantissa_bits, overflow_code, np.concatenate([positive, -positive]), midpoints
        )

    def decode(self, codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
        """The values of codes; exact."""
        return self.values[codes]

    def encode(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """The codes nearest to values, ties to even; beyond the largest finite value as the format overflows."""
        wide = np.asarray(values, np.float64)
        size = np.abs(wide)
        below = np.searchsorted(self._midpoints, size, side="left")
        tie = (below < len(self._midpoints)) & (
            self._midpoints[np.minimum(below, len(self._midpoints) - 1)] == size
        )
        codes = np.where(tie & (below % 2 == 1), below + 1, below)
        codes = np.where(np.isnan(wide), _NAN, codes)
        signs = np.signbit(wide).astype(np.uint8) << np.uint8(7)
        return codes.astype(np.uint8) | signs

    def encode_saturated(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """The same, but beyond the largest finite value is that value; NaN is positive (PTX ISA, `cvt.satfinite`)."""
        wide = np.asarray(values, np.float64)
        largest = self.values[self.overflow_code - 1]
        codes = self.encode(np.clip(wide, -largest, largest))
        return np.where(np.isnan(wide), np.uint8(_NAN), codes)


E4M3 = SmallFloat.of(4, 3, 0x7F)
E5M2 = SmallFloat.of(5, 2, 0x7C)
BY_PTX_NAME = {"e4m3": E4M3, "e5m2": E5M2}
