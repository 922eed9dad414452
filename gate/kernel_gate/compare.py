"""Every element of an output against what is expected; the first wrong one, named."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernel_gate.dtypes import Array, DType
from kernel_gate.tolerance import Allowed, Errors, measure, relative_errors


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first wrong element of an output, and how many there are."""

    output: str
    index: tuple[int, ...]
    got: str
    expected: str
    count: int
    total: int
    note: str = ""

    def __str__(self) -> str:
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.output}{at} = {self.got}{note}, expected {self.expected}"


def _text(value: float | int | np.generic) -> str:
    number = float(value)
    return f"{number:.7g}".replace("nan", "NaN") if not float(number).is_integer() else f"{number:g}"


def _first(wrong: Array, output: str, got: Array, expected: Array, note: str = "") -> Mismatch | None:
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape)) if wrong.ndim else ()
    return Mismatch(output, index, _text(got[index]), _text(expected[index]), count, wrong.size, note)


def unwritten(output: str, got: Array, poison: Array, dtype: DType, expected: Array) -> Mismatch | None:
    """The first element that still holds the poison that the buffer was filled with."""
    same = got.view(f"u{dtype.itemsize}") == poison.reshape(got.shape).view(f"u{dtype.itemsize}")
    return _first(same, output, dtype.wide(got), expected, "not written")


def compare(output: str, got: Array, expected: Array, dtype: DType, allowed: Allowed) -> Mismatch | None:
    """The first element that is wrong. `expected` is float64 (or integers for exact types) in the output's shape.

    What is NaN, +inf, −inf and finite must agree exactly, after the expected values are rounded to the output's type.
    """
    if not dtype.is_float:
        return _first(got != expected.astype(got.dtype), output, got, expected)
    wide = dtype.wide(got)
    rounded = dtype.wide(dtype.narrow(expected))
    finite = np.isfinite(rounded)
    kind_differs = np.where(
        finite, ~np.isfinite(wide), ~((wide == rounded) | (np.isnan(wide) & np.isnan(rounded)))
    )
    errors = relative_errors(wide, np.where(finite, expected, rounded))
    wrong = kind_differs | (errors > allowed.worst)
    found = _first(wrong, output, wide, expected)
    if found is not None and not kind_differs[found.index]:
        error = float(errors[found.index])
        found = replace(found, note=f"relative error {error:.1e}, allowed {allowed.worst:.1e}")
    return found


def less_precise(output: str, got: Array, expected: Array, dtype: DType, allowed: Allowed) -> str | None:
    """What to say when all elements pass but their errors together are those of a lower precision."""
    if not dtype.is_float:
        return None
    errors: Errors = measure(dtype.wide(got), expected)
    if errors.rms <= allowed.rms:
        return None
    return f"{output} is less precise than its type: rms error {errors.rms:.1e}, allowed {allowed.rms:.1e}"


def notices_constants(expected: Array, dtype: DType, allowed: Allowed) -> bool:
    """Whether an output that is zero everywhere, or constant, would be found wrong."""
    if not expected.size:
        return False
    if not dtype.is_float:
        return bool(np.any(expected != expected.flat[0])) or bool(np.any(expected != 0))
    finite = expected[np.isfinite(expected)]
    if not finite.size:
        return False
    zeros = np.zeros_like(expected)
    constant = np.full_like(expected, float(np.mean(finite)))
    zero_seen = bool(np.any(relative_errors(zeros, expected) > allowed.worst))
    constant_seen = expected.size == 1 or bool(np.any(relative_errors(constant, expected) > allowed.worst))
    return zero_seen and constant_seen
