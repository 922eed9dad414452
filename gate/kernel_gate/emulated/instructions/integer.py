"""Integer arithmetic (PTX ISA 9.0, 9.7.1): wraps modulo 2ⁿ; division by zero gives all ones, remainder the dividend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array, PtxType
from kernel_gate.emulated.wave import Wave

_WIDER = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}


def binary(site: Site, kind: PtxType, compute: Callable[[Any, Any], Array]) -> Step:
    """`d = compute(a, b)` over one type."""
    write, a, b = site.write(0, kind), site.read(1, kind), site.read(2, kind)
    return lambda wave: write(wave, compute(a(wave), b(wave)))


def unary(site: Site, kind: PtxType, compute: Callable[[Any], Array]) -> Step:
    """`d = compute(a)` over one type."""
    write, a = site.write(0, kind), site.read(1, kind)
    return lambda wave: write(wave, compute(a(wave)))


def _unsigned(kind: PtxType) -> PtxType:
    """The unsigned type of the same width: sums and low products are the same bits."""
    return TYPES[f"u{8 * kind.size}"]


def add_sub(site: Site) -> Step:
    """`add` and `sub` of integers; with `.sat` (s32) clamped."""
    kind = site.type
    compute: Any = np.add if site.parts[0] == "add" else np.subtract
    if site.has("cc"):
        raise site.unsupported()
    if site.has("sat"):
        return binary(site, kind, lambda a, b: _clamp(compute(np.int64(a), np.int64(b)), kind))
    return binary(site, _unsigned(kind), compute)


def _clamp(value: Array, kind: PtxType) -> Array:
    info = np.iinfo(kind.dtype)
    return np.clip(value, info.min, info.max).astype(kind.dtype)


def high_product(a: Array, b: Array, kind: PtxType) -> Array:
    """The upper half of the full product."""
    bits = 8 * kind.size
    if kind.size < 8:
        wide = TYPES[_WIDER[kind.name]].dtype
        full: Array = np.asarray(a).astype(wide) * np.asarray(b).astype(wide)
        return (full >> bits).astype(kind.dtype)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x, y = np.asarray(a).view(np.uint64), np.asarray(b).view(np.uint64)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    upper: Array = x1 * y1 + (middle >> half) + ((x0 * y1 + (middle & low)) >> half)
    if kind.kind == "int":
        upper = (
            upper
            - np.where(np.asarray(a) < 0, y, np.uint64(0))
            - np.where(np.asarray(b) < 0, x, np.uint64(0))
        )
    return upper.view(kind.dtype)


def multiply(site: Site) -> Step:
    """`mul.lo`, `mul.hi`, `mul.wide`."""
    kind = site.type
    if site.has("wide"):
        wide = TYPES[_WIDER[kind.name]]
        write, a, b = site.write(0, wide), site.read(1, kind), site.read(2, kind)
        return lambda wave: write(wave, a(wave).astype(wide.dtype) * b(wave).astype(wide.dtype))
    if site.has("hi"):
        return binary(site, kind, lambda a, b: high_product(a, b, kind))
    return binary(site, _unsigned(kind), np.multiply)


def multiply_add(site: Site) -> Step:
    """`mad.lo`, `mad.hi`, `mad.wide` of integers."""
    kind = site.type
    if site.has("cc"):
        raise site.unsupported()
    if site.has("sat"):
        return _saturating_multiply_add(site)
    if site.has("wide"):
        wide = TYPES[_WIDER[kind.name]]
        write, a, b, c = site.write(0, wide), site.read(1, kind), site.read(2, kind), site.read(3, wide)
        return lambda wave: write(wave, a(wave).astype(wide.dtype) * b(wave).astype(wide.dtype) + c(wave))
    if site.has("hi"):
        plain = _unsigned(kind)
        write, a, b, c = site.write(0, plain), site.read(1, kind), site.read(2, kind), site.read(3, plain)
        return lambda wave: write(wave, high_product(a(wave), b(wave), kind).view(plain.dtype) + c(wave))
    kind = _unsigned(kind)
    write, a, b, c = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3)))
    return lambda wave: write(wave, a(wave) * b(wave) + c(wave))


def _saturating_multiply_add(site: Site) -> Step:
    """`mad.hi.sat.s32`."""
    kind = site.type
    if kind.name != "s32" or not site.has("hi"):
        raise site.unsupported()
    write, a, b, c = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3)))

    def step(wave: Wave) -> None:
        high = high_product(a(wave), b(wave), kind)
        write(wave, _clamp(high.astype(np.int64) + c(wave), kind))

    return step


def quotient(a: Array, b: Array, kind: PtxType) -> Array:
    """Truncated towards zero; all ones where the divisor is zero."""
    a, b = np.asarray(a), np.asarray(b)
    zero = b == 0
    safe = np.where(zero, kind.dtype.type(1), b)
    result = a // safe
    if kind.kind == "int":
        # NumPy rounds down; one more where the signs differ and something remains.
        result = result + ((result * safe != a) & ((a < 0) != (safe < 0))).astype(kind.dtype)
    return np.where(
        zero, kind.dtype.type(-1) if kind.kind == "int" else np.iinfo(kind.dtype).max, result
    ).astype(kind.dtype)


def divide(site: Site) -> Step:
    """`div` of integers."""
    kind = site.type
    return binary(site, kind, lambda a, b: quotient(a, b, kind))


@opcode("rem")
def remainder(site: Site) -> Step:
    """`rem`: the sign of the dividend."""
    kind = site.type

    def compute(a: Array, b: Array) -> Array:
        zero = np.equal(b, 0)
        return np.where(zero, a, np.fmod(a, np.where(zero, kind.dtype.type(1), b))).astype(kind.dtype)

    return binary(site, kind, compute)


def minimum_maximum(site: Site) -> Step:
    """`min` and `max` of integers; `.relu` keeps what is not negative."""
    pick: Any = np.minimum if site.parts[0] == "min" else np.maximum
    if site.has("relu"):
        return binary(site, site.type, lambda a, b: np.maximum(pick(a, b), site.type.dtype.type(0)))
    return binary(site, site.type, pick)


def negate(site: Site) -> Step:
    """`neg` of integers."""
    return unary(site, _unsigned(site.type), lambda a: ~np.asarray(a) + a.dtype.type(1))


def absolute(site: Site) -> Step:
    """`abs` of integers; of the smallest it is itself."""
    return unary(site, site.type, np.abs)


@opcode("mul24", "mad24")
def multiply_24(site: Site) -> Step:
    """`mul24`, `mad24` of the lower 24 bits of each operand: `.lo` or `.hi` 32 bits of the 48."""
    kind, high = site.type, site.has("hi")
    shift = kind.dtype.type(8)
    wide = TYPES[_WIDER[kind.name]].dtype

    def product(a: Array, b: Array) -> Array:
        x, y = (np.asarray((v << shift) >> shift).astype(wide) for v in (a, b))
        full: Array = x * y
        return (full >> wide.type(16) if high else full).astype(kind.dtype)

    if site.parts[0] == "mul24":
        return binary(site, kind, product)
    write, a, b, c = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3)))
    if site.has("sat"):
        return lambda wave: write(wave, _clamp(product(a(wave), b(wave)).astype(np.int64) + c(wave), kind))
    return lambda wave: write(wave, product(a(wave), b(wave)) + c(wave))


@opcode("sad")
def sum_absolute_difference(site: Site) -> Step:
    """`sad`: c + |a - b|."""
    kind = site.type
    write, a, b, c = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3)))

    def step(wave: Wave) -> None:
        x, y = a(wave), b(wave)
        write(wave, c(wave) + (np.maximum(x, y) - np.minimum(x, y)))

    return step


@opcode("dp4a", "dp2a")
def dot_product_accumulate(site: Site) -> Step:
    """`dp4a`: four products of bytes, added to c. `dp2a`: of the halves of a and the lower (upper) bytes of b."""
    if len(site.types) != 2:
        raise site.unsupported()
    left, right = site.types
    result = TYPES["s32" if "int" in (left.kind, right.kind) else "u32"]
    write, a, b, c = site.write(0, result), site.read(1, left), site.read(2, right), site.read(3, result)
    count = 4 if site.parts[0] == "dp4a" else 2
    first = 2 if site.has("hi") else 0

    def part(value: Array, k: int, bits: int, kind: PtxType) -> Array:
        top = kind.dtype.type(32 - bits - bits * k)
        shifted = (value << top) >> kind.dtype.type(32 - bits)
        return np.asarray(shifted).astype(result.dtype)

    def step(wave: Wave) -> None:
        x, y, total = a(wave), b(wave), c(wave)
        for k in range(count):
            total = total + part(x, k, 32 // count, left) * part(y, first + k, 8, right)
        write(wave, total)

    return step
