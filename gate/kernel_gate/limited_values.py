"""Values within declared limits, at their ends and tied: what `Variation` says of inputs that promise a range."""

from __future__ import annotations

import numpy as np

from kernel_gate.dtypes import Array, DType

_SHARE = 0.5
"""The part of the elements that is special; the others stay as drawn."""
_ZEROS = 1 / 3
_LEVELS = 8
"""Steps of the grid that few values are taken from; a power of two, so that ranges with common ends share values."""
_FREE = (-2.0, 2.0)
"""Where few values of an input without limits lie."""
_CHARACTER = (0.0, -0.0, 0.5, -0.5, 1.0, -1.0)
_NEAR = (-1, 0, 1)
_BITS = 64

Limits = tuple[float, float]
"""The least and the largest value, both included."""


def special_floats(limits: Limits, dtype: DType) -> Array:
    """Both ends, what lies beside them inside, and where functions change character; all within the limits."""
    low, high = limits
    step = 2.0 * max(dtype.epsilon, 2.0**-53)
    beside = [low + step * abs(low), high - step * abs(high)]
    return _inside(np.array([low, high, *beside, *_CHARACTER]), limits, dtype)


def special_integers(low: int, high: int) -> list[int]:
    """Both ends, zero, powers of two of either sign, and the neighbours of each; all within the limits."""
    powers = [sign << bit for bit in range(_BITS) for sign in (1, -1)]
    return sorted({n + d for n in (low, high, 0, *powers) for d in _NEAR if low <= n + d <= high})


def some_of(values: Array, chosen_from: Array, generator: np.random.Generator) -> Array:
    """The values, half of them replaced by some of others; as they are where there are none."""
    if not len(chosen_from):
        return values
    chosen = generator.random(values.shape) < _SHARE
    return np.where(chosen, generator.choice(chosen_from, values.shape), values)


def few_floats(
    limits: Limits | None, shape: tuple[int, ...], dtype: DType, generator: np.random.Generator
) -> Array:
    """Values of a grid with both ends; of several rows one is all the same value."""
    low, high = limits or _FREE
    grid = low + (high - low) * np.arange(_LEVELS + 1) / _LEVELS
    inside = _inside(grid, (low, high), dtype)
    values: Array = generator.choice(inside if len(inside) else grid, shape)
    if (row := _one_row(values, generator)) is not None:
        row[:] = row[0]
    return values


def few_integers(low: int, high: int, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """One of few numbers, both limits among them; Python's own integers where 64 bits do not hold them."""
    grid = sorted({low + (high - low) * k // 3 for k in range(4)})
    return np.array(grid, dtype=object)[generator.integers(0, len(grid), shape)]


def with_zeros(values: Array, limits: Limits | None, generator: np.random.Generator) -> Array:
    """The values, a third of them zeros of either sign where the limits have zero; of several rows one is all +0."""
    if limits is not None and not limits[0] <= 0.0 <= limits[1]:
        return values
    drawn = generator.random(values.shape)
    result = np.where(drawn < _ZEROS / 2, 0.0, np.where(drawn < _ZEROS, -0.0, values))
    if (row := _one_row(result, generator)) is not None:
        row[:] = 0.0
    return result


def _one_row(values: Array, generator: np.random.Generator) -> Array | None:
    """A view of some row (last axis); None of a single row."""
    rows = values.reshape(-1, values.shape[-1]) if values.ndim > 1 and values.size else values[None]
    return rows[generator.integers(len(rows))] if len(rows) > 1 else None


def halves_within(values: Array, limits: Limits) -> Array:
    """Rows of halves, each scaled by the power of two that brings its largest as close to a limit as it goes.

    What a scale of the row's largest value divides is half-way between integers still. Nothing is below zero where
    the limits are not.
    """
    low, high = limits
    signed = low < 0.0 < high
    reach = min(-low, high) if signed else max(abs(low), abs(high))
    largest = np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0) if values.ndim else np.abs(values)
    with np.errstate(divide="ignore"):
        scale = np.exp2(np.floor(np.log2(reach / np.where(largest > 0, largest, 1.0))))
    scaled = values * scale
    return scaled if signed else np.copysign(scaled, high if high > 0 else low)


def _inside(values: Array, limits: Limits, dtype: DType) -> Array:
    """Those that are within the limits once they are rounded to the type."""
    rounded = dtype.wide(dtype.narrow(values))
    return rounded[(rounded >= limits[0]) & (rounded <= limits[1])]
