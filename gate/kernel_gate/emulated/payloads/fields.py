"""Exact arithmetic in a chain of finite fields, so that two programs can be compared whatever the order of their sums.

The primes are a Cunningham chain: p1 = 2·p0 + 1, p2 = 2·p1 + 1. In the field of p[i+1] the number 2 has the order p[i],
so `ex2` of a payload at level i is a payload at level i+1 with ex2(x + y) = ex2(x)·ex2(y) and ex2(n) = 2ⁿ. A base-2
logarithm goes one level down, by a discrete logarithm. Level 0 of an exponential and the top level of a logarithm hold
a hash of the operand: equal operands give equal hashes. p0 = 3 (mod 4), so squares have a root.

Payloads are arrays of uint64 whose first axis has one entry for each level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

PRIMES = (1073736011, 2147472023, 4294944047)
LEVELS = len(PRIMES)
Payload: TypeAlias = npt.NDArray[np.uint64]
_U = np.uint64
_CHUNK = 11
"""Bits of an exponent that one table of powers covers."""
_BABY_BITS = 20


def modulo(values: Payload, level: int) -> Payload:
    """Values reduced by the prime of a level; NumPy divides by a scalar faster than it takes remainders."""
    prime = _U(PRIMES[level])
    return values - (values // prime) * prime


def by_level(compute: Callable[..., Payload], *operands: Payload) -> Payload:
    """The payload whose levels are computed one by one: `compute(level, *operands at that level)`."""
    result = np.empty(np.broadcast_shapes(*(operand.shape for operand in operands)), _U)
    for level in range(LEVELS):
        result[level] = compute(level, *(operand[level] for operand in operands))
    return result


def constant(values: Sequence[int], like: Payload) -> Payload:
    """One number for each level, with as many axes as another payload."""
    return np.array(values, _U).reshape(LEVELS, *(1,) * (like.ndim - 1))


def add(a: Payload, b: Payload) -> Payload:
    """A + b."""
    return by_level(lambda level, x, y: modulo(x + y, level), a, b)


def negate(a: Payload) -> Payload:
    """-a."""
    return by_level(lambda level, x: np.where(x == 0, x, _U(PRIMES[level]) - x), a)


def multiply(a: Payload, b: Payload) -> Payload:
    """a·b."""
    return by_level(lambda level, x, y: modulo(x * y, level), a, b)


def multiply_add(a: Payload, b: Payload, c: Payload) -> Payload:
    """a·b + c."""
    return by_level(lambda level, x, y, z: modulo(x * y + z, level), a, b, c)


def inverse(a: Payload) -> Payload:
    """1 / a; 0 for 0."""
    return by_level(lambda level, x: _power(x, PRIMES[level] - 2, level), a)


def root(a: Payload) -> Payload:
    """√a for squares, √-a for the others: multiplicative, and its square is a or -a."""
    return by_level(lambda level, x: _power(x, (PRIMES[level] + 1) // 4, level), a)


def _power(base: Payload, exponent: int, level: int) -> Payload:
    result = np.ones_like(base)
    for bit in f"{exponent:b}":
        result = modulo(result * result, level)
        if bit == "1":
            result = modulo(result * base, level)
    return result


def hashed(a: Payload, function: str) -> Payload:
    """What stands for a function of which only this is kept: equal operands, equal results."""
    seed = sum(ord(letter) * 1000003**place for place, letter in enumerate(function)) % (1 << 61)
    with np.errstate(over="ignore"):
        mixed = (a + _U(seed | 1)) * _U(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> _U(29))) * _U(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> _U(32))) * _U(0x94D049BB133111EB)
    return by_level(lambda level, x: modulo(x ^ (x >> _U(29)), level), mixed)


def exp2(a: Payload) -> Payload:
    """2ᵃ: level i + 1 from level i."""
    result = hashed(a, "ex2")
    mask = _U((1 << _CHUNK) - 1)
    for level, tables in enumerate(_powers_of_two()):
        value = tables[0][a[level] & mask]
        for part in (1, 2):
            digits = (a[level] >> _U(_CHUNK * part)) & mask
            value = modulo(value * tables[part][digits], level + 1)
        result[level + 1] = value
    return result


@lru_cache(maxsize=1)
def _powers_of_two() -> list[list[Payload]]:
    """For each level but the top one: 2^(digit · 2^(11·part)) in the field above."""
    return [
        [
            np.array(
                [pow(2, digit << (_CHUNK * part), PRIMES[level + 1]) for digit in range(1 << _CHUNK)], _U
            )
            for part in range(3)
        ]
        for level in range(LEVELS - 1)
    ]


def log2(a: Payload) -> Payload:
    """log₂ a: level i from level i + 1, by the discrete logarithm of a² (which is always a square), halved."""
    result = hashed(a, "lg2")
    for level in range(1, LEVELS):
        squares, place = np.unique(modulo(a[level] * a[level], level), return_inverse=True)
        logarithms = _discrete_logarithms(squares, level)
        half = _U((PRIMES[level - 1] + 1) // 2)
        result[level - 1] = modulo(logarithms * half, level - 1)[place].reshape(a[level].shape)
    return result


def _discrete_logarithms(squares: Payload, level: int) -> Payload:
    """The n with 2ⁿ = square, by baby steps and giant steps; 0 for 0."""
    table, order = _baby_steps(level)
    giant = _U(pow(2, -(1 << _BABY_BITS), PRIMES[level]))
    result = np.zeros(squares.size, np.uint64)
    left, value = np.flatnonzero(squares), squares[squares != 0]
    for step in range((PRIMES[level - 1] >> _BABY_BITS) + 1):
        at = np.minimum(np.searchsorted(table, value), len(table) - 1)
        hit = table[at] == value
        result[left[hit]] = (_U(step) << _U(_BABY_BITS)) + order[at[hit]].astype(_U)
        left, value = left[~hit], modulo(value[~hit] * giant, level)
        if not len(left):
            break
    return result


@lru_cache(maxsize=LEVELS)
def _baby_steps(level: int) -> tuple[Payload, npt.NDArray[np.int64]]:
    """2⁰ … 2^(2²⁰ - 1) in ascending order, and their exponents."""
    powers = np.ones(1, _U)
    for bit in range(_BABY_BITS):
        powers = np.concatenate([powers, modulo(powers * _U(pow(2, 1 << bit, PRIMES[level])), level)])
    order = np.argsort(powers)
    return powers[order], order
