"""Values of floats, changed: what `Variation` says of one input."""

from __future__ import annotations

import numpy as np

from kernel_gate.cases import Variation
from kernel_gate.dtypes import Array

_BEYOND_EXP = 120.0
"""Further than the exponential of a 32-bit float reaches."""


def constant_rows(values: Array) -> Array:
    """Rows (last axis) of their first value."""
    first = values[..., :1] if values.ndim else values
    return np.broadcast_to(first, values.shape).copy()


def vary(values: Array, variation: Variation, generator: np.random.Generator, boundary: Array) -> Array:
    """Standard normal values, changed."""
    match variation:
        case Variation.SMALL:
            return values * 1e-3
        case Variation.LARGE:
            return values * 1e3
        case Variation.HEAVY_TAILED:
            return values * np.exp(2.0 * np.abs(generator.standard_normal(values.shape)))
        case Variation.ONE_HOT:
            return one_hot(values.shape, generator, 30.0)
        case Variation.CONSTANT:
            return constant_rows(values)
        case Variation.CANCELLING:
            return _cancelling(values, generator)
        case Variation.BOUNDARY:
            chosen = generator.random(values.shape) < 0.1
            return np.where(chosen, generator.choice(boundary, values.shape), values)
        case Variation.NON_FINITE:
            return _with_specials(values, generator, (-np.inf, np.nan, np.inf))
        case Variation.NOT_A_NUMBER:
            return _with_specials(values, generator, (_DEVICE_NAN,))
        case Variation.INFINITE:
            return _with_specials(values, generator, (np.inf,))
        case Variation.FAR_FROM_ZERO:
            return values + 1000.0
        case Variation.FAR_BELOW:
            return values - 1000.0
        case Variation.NEGATIVE:
            return -np.abs(values) - 0.5
        case Variation.SORTED:
            return np.sort(values, axis=-1)[..., :: generator.choice((-1, 1))] if values.ndim else values
        case Variation.FIRST_PEAK | Variation.LAST_PEAK:
            return _peaks(values, 0 if variation is Variation.FIRST_PEAK else -1)
        case Variation.TIES:
            return generator.integers(-64, 64, values.shape, endpoint=True) / 32.0
        case Variation.SIGNED_ZEROS:
            return np.where(generator.random(values.shape) < 0.5, -0.0, 0.0)
        case Variation.SUBNORMAL:
            return values * (100.0 * float(boundary[boundary > 0].min()))
    return values


def one_hot(shape: tuple[int, ...], generator: np.random.Generator, peak: float) -> Array:
    """Zeros with one peak in each row (last axis)."""
    values = np.zeros(shape)
    if values.size:
        rows = values.reshape(-1, shape[-1] if shape else 1)
        rows[np.arange(len(rows)), generator.integers(0, rows.shape[1], len(rows))] = peak
    return values


def masked(values: Array, generator: np.random.Generator) -> Array:
    """Rows in turn as they are, with −inf in about half of the places, and all −inf: as attention masks leave them."""
    result = values.copy()
    rows = result.reshape(-1, result.shape[-1]) if result.ndim and result.size else result.reshape(1, -1)
    rows[1::3][generator.random(rows[1::3].shape) < 0.5] = -np.inf
    rows[2::3] = -np.inf
    return rows.reshape(values.shape)


def _cancelling(values: Array, generator: np.random.Generator) -> Array:
    """Rows whose large terms come in pairs of opposite sign, so that sums are small beside their terms."""
    if not values.ndim or values.shape[-1] < 2:
        return values
    half = values.shape[-1] // 2
    result = values * 1e-2
    result[..., :half] += 100.0 * values[..., :half]
    result[..., half : 2 * half] -= 100.0 * values[..., :half]
    return generator.permuted(result, axis=-1)


_DEVICE_NAN = float(np.uint64(0x7FFFFFFFFFFFFFFF).view(np.float64))
"""The NaN that a GPU's arithmetic gives: all bits of the payload set, so that adding to its bits overflows."""


def _with_specials(values: Array, generator: np.random.Generator, specials: tuple[float, ...]) -> Array:
    """One special value in each of the first rows, so that they do not hide each other."""
    result = values.copy()
    rows = result.reshape(-1, result.shape[-1]) if result.ndim and result.size else result.reshape(1, -1)
    if rows.size:
        for row, special in zip(range(len(rows)), specials, strict=False):
            rows[row, generator.integers(0, rows.shape[1])] = special
    return rows.reshape(values.shape)


def _peaks(values: Array, high: int) -> Array:
    """Rows whose first and last elements stand out: the one at `high` (0 or -1) above the others, the other below."""
    if not values.ndim or values.shape[-1] == 0:
        return values
    result = values.copy()
    result[..., -1 - high] -= _BEYOND_EXP
    result[..., high] += _BEYOND_EXP
    return result
