"""Values of floats, changed: what `Variation` says of one input."""

from __future__ import annotations

import numpy as np

from kernel_gate.dtypes import Array, DType, rows_of
from kernel_gate.variations import Variation

_SATURATED = (11.0, 17.0)
_TAIL = (5.0, 12.0)
"""A half's exponential ends at 11, and 1 + e⁻ˣ is 1 in 32 bits from 17 on."""
_BEYOND_EXP = 120.0
"""Further than the exponential of a 32-bit float reaches."""

_SMALL = 1e-3
_WIDE = 4
"""Bytes of the types that still hold the square of a tiny number."""


def scale_of(variation: Variation, dtype: DType) -> float:
    """What values are multiplied by; of some variations all inputs, of some one."""
    match variation:
        case Variation.SMALL:
            return _SMALL
        case Variation.ALL_TINY:
            return 1e-10 if dtype.itemsize >= _WIDE else _SMALL
        case Variation.LARGE | Variation.ALL_LARGE:
            return 1e3
        case Variation.TOWARDS_LARGEST:
            return float(dtype.largest ** (1 / 3))
        case Variation.NEARER_LARGEST:
            return float(dtype.largest ** (2 / 3))
        case Variation.AT_LARGEST:
            return float(dtype.largest / 4)
        case Variation.TOWARDS_SMALLEST:
            return float(dtype.smallest_normal ** (1 / 3))
        case Variation.NEARER_SMALLEST:
            return float(dtype.smallest_normal ** (2 / 3))
    return 1.0


def scaled(values: Array, variation: Variation, dtype: DType) -> Array:
    """Values of about one, scaled, and finite in their type."""
    scale = scale_of(variation, dtype)
    return values if scale == 1.0 else np.clip(values * scale, -dtype.largest, dtype.largest)


def constant_rows(values: Array) -> Array:
    """Rows (last axis) of their first value."""
    first = values[..., :1] if values.ndim else values
    return np.broadcast_to(first, values.shape).copy()


def vary(values: Array, variation: Variation, generator: np.random.Generator, boundary: Array) -> Array:
    """Standard normal values, changed."""
    match variation:
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
        case Variation.NOT_A_NUMBER | Variation.NAN_AT_ENDS:
            return _with_nans(values, generator)
        case Variation.INFINITE:
            return _with_infinities(values, generator)
        case Variation.ALIKE:
            return _alike(values, generator)
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
            return _signed_zeros(values.shape, generator)
        case Variation.SATURATED:
            return np.copysign(generator.uniform(*_SATURATED, values.shape), values)
        case Variation.TAIL:
            return -generator.uniform(*_TAIL, values.shape)
        case Variation.SUBNORMAL:
            return values * (100.0 * float(boundary[boundary > 0].min()))
    return values


def _alike(values: Array, generator: np.random.Generator) -> Array:
    """Copies of the first row, each with another number in a place of its own."""
    if not values.size or not values.ndim:
        return values
    rows = np.repeat(values.reshape(-1, values.shape[-1])[:1], values.size // values.shape[-1], axis=0)
    rows[np.arange(len(rows)), generator.integers(values.shape[-1], size=len(rows))] += 1.0
    return rows.reshape(values.shape)


def _signed_zeros(shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Zeros of both signs; rows begin with one of each, in turns, so that the first of equal ones is of either."""
    below = np.asarray(generator.random(shape) < 0.5)
    if shape and below.size and shape[-1] > 1:
        rows = below.reshape(-1, shape[-1])
        first = (np.arange(len(rows)) + generator.integers(2)) % 2 == 0
        rows[:, 0], rows[:, 1] = first, ~first
    return np.where(below, -0.0, 0.0)


_NARROW = (7, 127, 448)
"""The largest values of integers of 4 and 8 bits and of floats of 8 bits: what scales are made for."""


def halves(shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """Multiples of a half up to the largest value of a narrow type; a quarter is at that value. Each row has one type,
    the rows in turn; a single row has them all, one after the other.

    None is half of the largest: `x / (largest / 127)` is half-way there, whatever rounding has made of the scale.
    """
    values = np.zeros(shape)
    if not values.size:
        return values
    rows = values.reshape(-1, shape[-1] if shape else 1)
    first = int(generator.integers(len(_NARROW)))
    parts = np.array_split(rows[0], len(_NARROW)) if len(rows) == 1 else list(rows)
    for number, part in enumerate(parts, first):
        largest = _NARROW[number % len(_NARROW)]
        part[:] = generator.integers(-2 * largest, 2 * largest, len(part), endpoint=True) / 2
        part[np.abs(part) == largest / 2] += 0.5
        at_largest = generator.random(len(part)) < 1 / 4
        part[at_largest] = generator.choice((-largest, largest), int(at_largest.sum()))
    return values


def powers_of_two(values: Array) -> Array:
    """The nearest powers of two, with the sign of each value; zeros and what is not finite stay."""
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.sign(values) * np.exp2(np.rint(np.log2(np.abs(values))))
    return np.where(np.isfinite(powers) & (values != 0), powers, values)


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
    rows = rows_of(result)
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
    rows = rows_of(result)
    if rows.size:
        for row, special in zip(range(len(rows)), specials, strict=False):
            rows[row, generator.integers(0, rows.shape[1])] = special
    return rows.reshape(values.shape)


def _with_infinities(values: Array, generator: np.random.Generator) -> Array:
    """One infinity in the first row, and rows of infinities below zero, as masks leave them: all of a row, one half of
    it, and all but its first or last element, so that a whole tile holds nothing else. A single row has one infinity.
    """
    result = _with_specials(values, generator, (np.inf,))
    rows = rows_of(result)
    half, width = rows.shape[1] // 2, rows.shape[1]
    parts = [slice(0, half), slice(half, width), slice(0, width - 1), slice(1, width)]
    for row, part in zip(rows[1:], [slice(0, width), *generator.permutation(np.array(parts))], strict=False):
        row[part] = -np.inf
    return rows.reshape(values.shape)


def _with_nans(values: Array, generator: np.random.Generator) -> Array:
    """One NaN in the first row and NaN in half of the places of the next; a single row has them in half of its places.

    A dropped element's NaN must not reach the output: with one NaN alone it depends on the draw whether one is dropped.
    """
    result = _with_specials(values, generator, (_DEVICE_NAN,))
    rows = rows_of(result)
    row = rows[min(1, len(rows) - 1)]
    row[generator.random(row.shape) < 0.5] = _DEVICE_NAN
    return rows.reshape(values.shape)


def _peaks(values: Array, high: int) -> Array:
    """Rows whose first and last elements stand out: the one at `high` (0 or -1) above the others, the other below."""
    if not values.ndim or values.shape[-1] == 0:
        return values
    result = values.copy()
    result[..., -1 - high] -= _BEYOND_EXP
    result[..., high] += _BEYOND_EXP
    return result
