"""8-bit floats, e4m3 and e5m2 (OCP 8-bit floating point specification, 2023): exact tables, rounded to nearest even."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.types import Array

_NAN = 0x7F
"""What a conversion makes of NaN (PTX ISA, `cvt`)."""


@dataclass(frozen=True, slots=True)
class Fp8:
    """One 8-bit format."""

    fraction_bits: int
    bias: int
    largest: int
    """Code of the largest finite number."""
    infinite: bool
    """Whether the code behind it is infinity."""

    def table(self) -> npt.NDArray[np.float32]:
        """The value of each of the 256 codes."""
        codes = np.arange(128)
        exponent, fraction = codes >> self.fraction_bits, codes & ((1 << self.fraction_bits) - 1)
        scale = 2.0 ** (np.maximum(exponent, 1) - self.bias - self.fraction_bits)
        values = (fraction + ((exponent > 0) << self.fraction_bits)) * scale
        values[self.largest + 1 :] = np.nan
        if self.infinite:
            values[self.largest + 1] = np.inf
        return np.concatenate([values, -values]).astype(np.float32)


FP8 = {"e4m3": Fp8(3, 7, 0x7E, False), "e5m2": Fp8(2, 15, 0x7B, True)}
_TABLES = {name: form.table() for name, form in FP8.items()}


def decode(name: str, codes: Array) -> Array:
    """Codes (uint8) → float32, exact."""
    return _TABLES[name][codes]


def encode(name: str, values: Array) -> Array:
    """float32 → codes, to nearest even; what is too large becomes the largest number (`.satfinite`)."""
    form = FP8[name]
    values = np.asarray(values, np.float32)
    positive = _TABLES[name][: form.largest + 1].astype(np.float64)
    size = np.minimum(np.abs(values).astype(np.float64), positive[-1])
    below = np.searchsorted(positive, size, side="right") - 1
    below = np.clip(below, 0, form.largest - 1)
    middle = (positive[below] + positive[below + 1]) / 2
    up: Any = (size > middle) | ((size == middle) & (below & 1 == 1))
    codes = (below + up).astype(np.uint8) | (np.signbit(values).astype(np.uint8) << np.uint8(7))
    return np.where(np.isnan(values), np.uint8(_NAN), codes)
