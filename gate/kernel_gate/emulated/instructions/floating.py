"""Floating-point arithmetic of f16, bf16, f32 and f64 and the packed halves (PTX ISA 9.0, 9.7.3 to 9.7.5).

`.rn` is exact. `.rz`, `.rm`, `.rp` of f32 go through float64 and are then directed; of f64 they are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated.formats import FORMATS, elementwise, pack, unpack
from kernel_gate.emulated.instructions.integer import binary, unary
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.rounding import round_f32
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array, flush_subnormals
from kernel_gate.emulated.wave import Wave

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "abs": np.abs,
}
_DIRECTED = ("rz", "rm", "rp")


def _clamp_to_one(values: Array) -> Array:
    """`.sat`: into [0, 1], NaN to 0."""
    one = values.dtype.type(1)
    return np.where(np.isnan(values), values.dtype.type(0), np.clip(values, 0 * one, one))


def _finish(site: Site, compute: Callable[..., Array]) -> Callable[..., Array]:
    """What the modifiers of the opcode add: `.sat`, `.relu`."""
    if site.has("sat"):
        return lambda *values: _clamp_to_one(np.asarray(compute(*values)))
    if site.has("relu"):
        return lambda *values: np.fmax(compute(*values), np.float32(0))
    return compute


def two_operands(site: Site) -> Step:
    """`add`, `sub`, `mul`."""
    kind, operation = site.type, _OPERATIONS[site.parts[0]]
    direction = site.first(*_DIRECTED)
    if direction is not None:
        if kind.name != "f32":
            raise site.unsupported()

        def directed(a: Array, b: Array) -> Array:
            x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
            exact = operation(x, y)
            # A float64 sum can itself be rounded; the error says to which side.
            error = np.zeros_like(exact) if operation is np.multiply else _sum_error(operation, x, y, exact)
            return round_f32(exact, direction, error)

        return binary(site, kind, _finish(site, directed))
    return binary(site, kind, elementwise(kind, _finish(site, operation), site.has("ftz")))


def _sum_error(operation: Callable[..., Any], x: Array, y: Array, total: Array) -> Array:
    """What rounding took from a sum (Knuth's two-sum)."""
    y = y if operation is np.add else -y
    part: Array = total - x
    error: Array = (x - (total - part)) + (y - part)
    return error


def one_operand(site: Site) -> Step:
    """`neg`, `abs`."""
    kind = site.type
    return unary(site, kind, elementwise(kind, _OPERATIONS[site.parts[0]], site.has("ftz")))


def fused(site: Site) -> Step:
    """`fma` (and `mad` of floats, which is the same on current devices).

    f32 and halves: the product is exact in float64, the sum is rounded there and once more at the end. The two
    roundings differ from one only when the float64 sum falls exactly between two results and was itself inexact:
    at most one case in 2²⁹ for f32. f64: the product's error is added back, which leaves at most one unit of error.
    """
    kind = site.type
    write, a, b, c = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3)))
    if kind.name == "f64":
        return lambda wave: write(wave, _fused_f64(a(wave), b(wave), c(wave)))
    form, flush = FORMATS[kind.name], site.has("ftz")
    direction = site.first(*_DIRECTED)
    if direction is not None and kind.name != "f32":
        raise site.unsupported()

    def exact(x: Array, y: Array, z: Array) -> Array:
        wide = [form.open(np.asarray(v).view(form.kind.dtype)) for v in (x, y, z)]
        if flush:
            wide = [flush_subnormals(v) for v in wide]
        product = np.asarray(wide[0], np.float64) * wide[1]
        total = product + wide[2]
        if direction is not None:
            return round_f32(
                total, direction, _sum_error(np.add, product, np.asarray(wide[2], np.float64), total)
            )
        rounded = form.close_wide(total)
        return flush_subnormals(rounded) if flush and kind.name == "f32" else rounded

    finish = _finish(site, exact) if kind.name == "f32" else exact
    if site.has("relu") or (site.has("sat") and kind.name != "f32"):
        raise site.unsupported()
    if form.lanes == 1:
        return lambda wave: write(wave, finish(a(wave), b(wave), c(wave)))

    def packed(wave: Wave) -> None:
        halves = [unpack(r(wave)) for r in (a, b, c)]
        write(wave, pack(exact(*(h[0] for h in halves)), exact(*(h[1] for h in halves))))

    return packed


def _split(x: Array) -> tuple[Array, Array]:
    """Dekker's split of a float64 into two of 26 bits."""
    scaled = x * 134217729.0
    high = scaled - (scaled - x)
    return high, x - high


def _fused_f64(a: Array, b: Array, c: Array) -> Array:
    product = a * b
    (a1, a0), (b1, b0) = _split(a), _split(b)
    low = ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    fixed = total + (error + low)
    # Splitting overflows near the largest numbers; the plain sum is right to one unit there.
    return np.where(np.isfinite(fixed), fixed, a * b + c)


def divide(site: Site) -> Step:
    """`div`: `.rn` is exact; `.approx` and `.full` are the exact quotient here, the hardware's is within 2 units."""
    kind = site.type
    direction = site.first(*_DIRECTED)
    if direction is not None:
        raise site.unsupported()
    return binary(site, kind, elementwise(kind, np.divide, site.has("ftz")))


def minimum_maximum(site: Site) -> Step:
    """`min`, `max`: a number wins over NaN, unless `.NaN`; +0 is greater than -0."""
    kind, smaller = site.type, site.parts[0] == "min"
    if site.has("xorsign") or site.operand_count > 3:
        raise site.unsupported()
    pick: Any = (
        (np.minimum if smaller else np.maximum) if site.has("NaN") else (np.fmin if smaller else np.fmax)
    )

    def compute(a: Array, b: Array) -> Array:
        result: Array = pick(a, b)
        zeros = (result == 0) & (np.signbit(a) != np.signbit(b))
        if np.any(zeros):
            both = np.equal(a, b) & zeros
            result = np.where(both, -0.0 if smaller else 0.0, result).astype(result.dtype)
        return result

    return binary(site, kind, elementwise(kind, compute, site.has("ftz")))


@opcode("copysign")
def copy_sign(site: Site) -> Step:
    """`copysign d, a, b`: the magnitude of b with the sign of a."""
    return binary(site, site.type, lambda a, b: np.copysign(b, a))


@opcode("testp")
def test_property(site: Site) -> Step:
    """`testp`: finite, infinite, number, not a number, normal, subnormal."""
    kind = site.type
    tiny = np.finfo(kind.dtype).tiny
    tests: dict[str, Callable[[Any], Any]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        "normal": lambda a: np.isfinite(a) & (np.abs(a) >= tiny),
        "subnormal": lambda a: (np.abs(a) < tiny) & (a != 0),
    }
    test = tests[site.parts[1]]
    write, a = site.write(0, TYPES["pred"]), site.read(1, kind)
    return lambda wave: write(wave, test(a(wave)))
