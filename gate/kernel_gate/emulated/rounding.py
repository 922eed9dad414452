"""Exact sums, products, quotients and roots, rounded once in any direction.

An exact result is held as a float64 and the error of that float64; from its sign follow the directed results, and by
rounding to odd the nearest value of any narrower format (Boldo and Melquiond, "Emulation of FMA and correctly rounded
sums: proved algorithms using rounding to odd", 2008). Where float64 itself overflows or underflows, single elements are
computed with rationals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from kernel_gate.emulated.types import Array

Exact: TypeAlias = "tuple[Array, Array]"
"""Nearest float64, and what it lacks: of the error only the sign and whether it is zero are relied on."""
_SPLITTER = 134217729.0
_TINY, _HUGE = 2.0**-400, 2.0**400
"""Between these the products of two numbers and their errors are normal numbers."""


def two_sum(x: Array, y: Array) -> Exact:
    """The sum and its exact error (Knuth)."""
    total: Array = np.add(x, y)
    part = total - x
    error: Array = (x - (total - part)) + (y - part)
    finite = np.isfinite(total)
    if finite.all():
        return total, error
    # A sum beyond the largest number lacks what lies between the two.
    beyond = np.where(np.isfinite(x) & np.isfinite(y), -np.sign(total), 0.0)
    return total, np.where(finite, error, beyond)


def two_product(x: Array, y: Array) -> Exact:
    """The product and its exact error (Dekker), for operands whose halves neither overflow nor underflow."""
    product: Array = np.multiply(x, y)
    x1, x0 = _split(x)
    y1, y0 = _split(y)
    return product, ((x1 * y1 - product) + x1 * y0 + x0 * y1) + x0 * y0


def _split(x: Array) -> tuple[Array, Array]:
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def to_odd(value: Array, error: Array) -> Array:
    """An inexact float64 made odd: whatever is rounded from it to fewer bits is then rounded once."""
    value = np.asarray(value, np.float64)
    bits = value.view(np.int64)
    inexact = (error != 0) & ((bits & 1) == 0) & np.isfinite(value)
    # Towards the exact value, which lies on the side of the error: up in magnitude when both have one sign.
    step = np.where((error > 0) == (value > 0), 1, -1)
    return np.where(inexact, np.where(value == 0, error, (bits + step).view(np.float64)), value)


def fused(a: Array, b: Array, c: Array) -> Exact:
    """The sum a · b + c of float64: the nearest value and the sign of what it lacks."""
    a, b, c = (np.asarray(v, np.float64) for v in np.broadcast_arrays(a, b, c))
    high, low = two_product(a, b)
    inner, rest = two_sum(c, low)
    total, tail = two_sum(high, inner)
    odd = to_odd(*two_sum(rest, tail))
    value, error = two_sum(total, odd)
    sizes = [np.abs(v) for v in (a, b, c)]
    hard = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    plain = ~hard
    hard &= ~((sizes[0] > _TINY) & (sizes[0] < _HUGE) & (sizes[1] > _TINY) & (sizes[1] < _HUGE))
    hard |= ~plain & ((sizes[2] > _HUGE) | ((sizes[2] < _TINY**2) & (c != 0)))
    product_zero = np.where(plain, a * b, 0.0)
    value = np.where(plain, product_zero + c, value)
    error = np.where(plain, 0.0, error)
    return _repaired(value, error, hard, lambda x, y, z: x * y + z, a, b, c)


def product(a: Array, b: Array) -> Exact:
    """The product of two float64."""
    return fused(a, b, np.copysign(0.0, np.multiply(a, b)))


def quotient(a: Array, b: Array) -> Exact:
    """The quotient of two float64."""
    a, b = (np.asarray(v, np.float64) for v in np.broadcast_arrays(a, b))
    value = a / b
    rest, _ = fused(-value, b, a)
    usual = np.isfinite(value) & np.isfinite(a) & np.isfinite(b) & (b != 0)
    error = np.where(usual & np.isfinite(rest), np.sign(rest) * np.sign(b), 0.0)
    size = np.abs(value)
    hard = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0) & ~((size > _TINY) & (size < _HUGE))
    hard |= usual & (a != 0) & (np.abs(a) < _TINY)
    return _repaired(value, error, hard, lambda x, y: x / y, a, b)


def root(a: Array) -> Exact:
    """The square root of a float64."""
    a = np.asarray(a, np.float64)
    value = np.sqrt(a)
    usual = np.isfinite(value) & (a > 0)
    # A power of four moves small operands to where the square of the root has no underflow; the sign stays.
    small = usual & (a < _TINY)
    scaled, by = np.where(small, a * 2.0**600, a), np.where(small, value * 2.0**300, value)
    rest, _ = fused(-by, by, scaled)
    return value, np.where(usual, np.sign(rest), 0.0)


def _repaired(
    value: Array, error: Array, hard: Array, compute: Callable[..., Fraction], *operands: Array
) -> Exact:
    """Elements near the limits of float64, by rationals."""
    where = np.flatnonzero(hard)
    if not len(where):
        return value, error
    value, error = np.array(value), np.array(error)
    flat_value, flat_error = value.reshape(-1), error.reshape(-1)
    columns = [np.broadcast_to(o, value.shape).reshape(-1) for o in operands]
    for index in where:
        exact = compute(*(Fraction(float(column[index])) for column in columns))
        if exact:
            flat_value[index] = _nearest(exact)
            flat_error[index] = _sign(exact, flat_value[index])
    return value, error


def _nearest(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _sign(exact: Fraction, nearest: float) -> float:
    if math.isinf(nearest):
        return -math.copysign(1.0, nearest)
    return float((exact > Fraction(nearest)) - (exact < Fraction(nearest)))


def rounded_sum(x: Array, y: Array, bits: int, tiny: float, close: Callable[[Array], Array]) -> Array:
    """The sum of two float64, rounded once by `close` to a format of `bits` fraction bits.

    Rounding twice differs only where the float64 sum is inexact and lies half-way between two numbers of the format,
    or where the result is below `tiny`, the smallest normal one: only there the error is looked at.
    """
    total = np.asarray(np.add(x, y), np.float64)
    result: Array = close(total)
    dropped = np.int64((1 << (52 - bits)) - 1)
    doubtful = (total.view(np.int64) & dropped) == (dropped >> 1) + 1
    size = np.abs(total)
    if size.size and size.min() < tiny:
        doubtful = doubtful | ((size < tiny) & (size > 0))
    if not doubtful.any():
        return result
    if total.ndim == 0:
        return close(to_odd(*two_sum(x, y)))
    where = np.flatnonzero(doubtful)
    left, right = (np.broadcast_to(v, total.shape)[where] for v in (x, y))
    result = np.array(result)
    result[where] = close(to_odd(*two_sum(left, right)))
    return result


def directed(value: Array, error: Array, direction: str) -> Array:
    """An exact float64 result in a direction: to zero (`rz`), down (`rm`), up (`rp`), to nearest (`rn`)."""
    if direction == "rn":
        return value
    return _towards(np.asarray(value, np.float64), error < 0, error > 0, direction, value)


def round_f32(values: Array, direction: str, error: Array | None = None) -> Array:
    """float64 → float32, rounded to zero (`rz`), down (`rm`), up (`rp`) or to nearest even (`rn`).

    `error`: what is still missing in `values`, when they were rounded themselves.
    """
    values = np.asarray(values, np.float64)
    if direction == "rn":
        return (values if error is None else to_odd(values, error)).astype(np.float32)
    nearest = values.astype(np.float32)
    wide = nearest.astype(np.float64)
    missing: Any = 0.0 if error is None else error
    over = (wide > values) | ((wide == values) & (missing < 0))
    under = (wide < values) | ((wide == values) & (missing > 0))
    return _towards(nearest, over, under, direction, values)


def _towards(nearest: Array, over: Array, under: Array, direction: str, values: Array) -> Array:
    """The nearest value or its neighbour; `over`: it lies above the exact one, `under`: below."""
    infinite = nearest.dtype.type(np.inf)
    down, up = np.nextafter(nearest, -infinite), np.nextafter(nearest, infinite)
    if direction == "rm":
        result = np.where(over, down, nearest)
    elif direction == "rp":
        result = np.where(under, up, nearest)
    else:
        negative = np.signbit(nearest)
        result = np.where(over & ~negative, down, np.where(under & negative, up, nearest))
    exact = np.isnan(values) | (np.isinf(values) & ~over & ~under)
    return np.where(exact, nearest, result)
