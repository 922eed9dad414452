"""Floats as elements of the fields: exact values of data, and what a literal in a program stands for.

A float of the data is a dyadic rational, which every field holds exactly. A literal was written by a person or a
compiler for a number that floats only approximate: 0.1f, 1e-5f, 1/3. It is read as the fraction with the least
denominator that rounds to it, so that `x / 3` and `x * (1.0f / 3.0f)` are the same. log₂ e and ln 2 are symbols, since
programs hold them in several roundings.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.payloads.fields import (
    LEVELS,
    PRIMES,
    Payload,
    add,
    constant,
    exp2,
    inverse,
    modulo,
    multiply,
    negate,
)
from kernel_gate.emulated.ptx.model import FloatBits

_U = np.uint64
_OFFSET = 1200
_POWERS = np.array([[pow(2, (e - _OFFSET) % (p - 1), p) for e in range(2 * _OFFSET)] for p in PRIMES], _U)
_RANDOM = np.random.default_rng(20240607)
LOG2_E = [int(_RANDOM.integers(3, p)) for p in PRIMES]
_LN_2 = [pow(value, -1, prime) for value, prime in zip(LOG2_E, PRIMES, strict=True)]
_NOT_FINITE = np.array([[int(_RANDOM.integers(3, p)) for p in PRIMES] for _ in range(3)], _U)
"""NaN, +∞, −∞."""
_LEAST_TERMS = 24


def _mantissa(value: float) -> int:
    return int(np.frexp(np.float64(value))[0] * 2.0**53)


_SYMBOLS = [
    (_mantissa(float(np.float32(1.4426950408889634))), 1, LOG2_E),
    (_mantissa(1.4426950408889634), 1, LOG2_E),
    (_mantissa(float(np.float32(0.6931471805599453))), 0, _LN_2),
    (_mantissa(0.6931471805599453), 0, _LN_2),
]
"""Mantissa, exponent and payload of each rounding; powers of two times them are recognised too."""
_LOW_PART_OF_LOG2_E = float(np.uint32(0x32A57060).view(np.float32))
"""What nvcc's `expf` adds to its float log₂ e for precision: nothing, where log₂ e is exact."""


def lift(values: npt.ArrayLike) -> Payload:
    """(LEVELS, …): exact values as payloads; NaN and the infinities have fixed ones."""
    values = np.asarray(values, np.float64)
    finite = np.isfinite(values)
    fraction, exponent = np.frexp(np.where(finite, values, 0.0))
    whole = (np.abs(fraction) * 2.0**53).astype(_U)
    at = np.clip(exponent - 53 + _OFFSET, 0, 2 * _OFFSET - 1)
    result = np.empty((LEVELS, *values.shape), _U)
    for level in range(LEVELS):
        result[level] = modulo(modulo(whole, level) * _POWERS[level][at], level)
    for mantissa, high, payload in _SYMBOLS:
        chosen = whole == _U(mantissa)
        if chosen.any():
            shift = np.clip(exponent - high + _OFFSET, 0, 2 * _OFFSET - 1)
            for level in range(LEVELS):
                symbol = modulo(_U(payload[level]) * _POWERS[level][shift], level)
                result[level] = np.where(chosen, symbol, result[level])
    negative = fraction < 0
    if negative.any():
        result = np.where(negative, negate(result), result)
    low = np.abs(values) == _LOW_PART_OF_LOG2_E
    if low.any():
        result[:, low] = 0
    if not finite.all():
        kind = np.where(np.isnan(values), 0, np.where(values > 0, 1, 2))
        result = np.where(finite, result, np.moveaxis(_NOT_FINITE[kind], -1, 0))
    return result


def literal_value(bits: FloatBits) -> float:
    """The number that a literal's bits are."""
    raw = bits.bits.to_bytes(bits.size, "little")
    return float(struct.unpack("<f" if bits.size == 4 else "<d", raw)[0])


def literal(bits: FloatBits) -> Payload:
    """(LEVELS, 1): the payload of a literal."""
    value = literal_value(bits)
    symbols = {mantissa for mantissa, _, _ in _SYMBOLS}
    whole = abs(_mantissa(value)) if np.isfinite(value) else 0
    if value == 0 or not np.isfinite(value) or abs(value) == _LOW_PART_OF_LOG2_E or whole in symbols:
        return lift(np.array([value]))
    fraction = simplest(value, single=bits.size == 4)
    return np.array(
        [[fraction.numerator * pow(fraction.denominator, -1, prime) % prime] for prime in PRIMES], _U
    )


def simplest(value: float, *, single: bool) -> Fraction:
    """The fraction with the least denominator that rounds to a float; its exact value where that one is long.

    The continued fraction of the interval of all numbers that round to it (Stern-Brocot).
    """
    exact = Fraction(value)
    digits, least = (24, -149) if single else (53, -1074)
    half = Fraction(2) ** (max(math.frexp(value)[1] - digits, least) - 1)
    low, high = abs(exact) - half, abs(exact) + half
    terms: list[int] = []
    a, b = low, high
    while True:
        whole = a.numerator // a.denominator
        if whole + 1 < b or whole == a or len(terms) > _LEAST_TERMS:
            terms.append(whole if whole == a else whole + 1)
            break
        terms.append(whole)
        a, b = 1 / (b - whole), 1 / (a - whole)
    fraction = Fraction(terms[-1])
    for term in reversed(terms[:-1]):
        fraction = term + 1 / fraction
    if fraction.denominator >= (1 << 20 if single else 1 << 40) or not low <= fraction <= high:
        return exact
    return fraction if exact > 0 else -fraction


def tanh(a: Payload) -> Payload:
    """(e²ᵃ - 1) / (e²ᵃ + 1), as programs without the instruction write it."""
    doubled = [2 * value % prime for value, prime in zip(LOG2_E, PRIMES, strict=True)]
    power = exp2(multiply(a, constant(doubled, a)))
    one = constant([1] * LEVELS, a)
    return multiply(add(power, negate(one)), inverse(add(power, one)))
