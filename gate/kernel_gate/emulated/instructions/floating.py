"""Floating-point arithmetic of f16, bf16, f32 and f64 and the packed halves (PTX ISA 9.0, 9.7.3 to 9.7.5).

Every rounding is exact: `.rn` by the carrier's own operation, `.rz`, `.rm` and `.rp` from the sign of what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated import rounding
from kernel_gate.emulated.formats import FORMATS, elementwise, pack, to_f32, unpack
from kernel_gate.emulated.instructions.integer import binary, unary
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.rounding import Exact, directed, round_f32, rounded_sum
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
_EXACT: dict[str, Callable[..., Exact]] = {
    "add": rounding.two_sum,
    "sub": lambda x, y: rounding.two_sum(x, -y),
    "mul": rounding.product,
    "div": rounding.quotient,
}
_EXACT_F32: dict[str, Callable[..., Exact]] = {
    "mul": lambda x, y: (x * y, np.zeros(())),
    "fma": lambda x, y, z: rounding.two_sum(x * y, z),
}
"""A product of two f32 is exact in float64."""
_DIRECTED = ("rz", "rm", "rp")
_TINY_F32 = float(np.finfo(np.float32).tiny)
_HALVES = {"f16": (10, 2.0**-14), "bf16": (7, 2.0**-126)}
"""Fraction bits, and the smallest normal number."""


def _clamp_to_one(values: Array) -> Array:
    """`.sat`: into [0, 1], NaN to 0."""
    one = values.dtype.type(1)
    return np.where(np.isnan(values), values.dtype.type(0), np.clip(values, 0 * one, one))


def _finish(site: Site, compute: Callable[..., Array]) -> Callable[..., Array]:
    """What the modifiers of the opcode add: `.sat`, `.relu` (which keeps NaN)."""
    if site.has("sat"):
        return lambda *values: _clamp_to_one(np.asarray(compute(*values)))
    if site.has("relu"):
        return lambda *values: np.maximum(compute(*values), np.float32(0))
    return compute


def one_direction(site: Site, exact: Callable[..., Exact]) -> Callable[..., Array] | None:
    """An exact function of f32 or f64 rounded in the direction that the opcode names; None: to nearest."""
    direction = site.first(*_DIRECTED)
    if direction is None:
        return None
    if site.type.name not in ("f32", "f64"):
        raise site.unsupported()
    single, flush = site.type.name == "f32", site.has("ftz")
    exactly = _EXACT_F32.get(site.parts[0], exact) if single else exact

    def rounded(*operands: Array) -> Array:
        values = [flush_subnormals(np.asarray(o)) if flush else o for o in operands]
        value, error = exactly(*(np.asarray(v, np.float64) for v in values))
        result = to_f32(round_f32(value, direction, error)) if single else directed(value, error, direction)
        if direction == "rm":
            result = _negative_zero(site, result, error, values)
        return flush_subnormals(result) if flush else result

    return _finish(site, rounded)


def _negative_zero(site: Site, result: Array, error: Array, operands: list[Any]) -> Array:
    """Rounded down, a sum that cancels is -0 (IEEE 754, 6.3)."""
    if site.parts[0] not in ("add", "sub", "fma", "mad"):
        return result
    *_, last = operands
    last = np.negative(last) if site.parts[0] == "sub" else last
    first = operands[0] if len(operands) == 2 else np.multiply(operands[0], operands[1])
    cancelled = (result == 0) & (error == 0) & (np.signbit(first) | np.signbit(last))
    return np.where(cancelled, -np.abs(result), result)


def two_operands(site: Site) -> Step:
    """`add`, `sub`, `mul`."""
    kind, name = site.type, site.parts[0]
    if len(site.types) > 1:
        raise site.unsupported()
    rounded = one_direction(site, _EXACT[name])
    if rounded is not None:
        return binary(site, kind, rounded)
    return binary(site, kind, elementwise(kind, _finish(site, _OPERATIONS[name]), site.has("ftz")))


def one_operand(site: Site) -> Step:
    """`neg`, `abs`."""
    kind = site.type
    return unary(site, kind, elementwise(kind, _OPERATIONS[site.parts[0]], site.has("ftz")))


def fused(site: Site) -> Step:
    """`fma` (and `mad` of floats, which is the same on current devices), rounded once."""
    kind = site.type
    if len(site.types) > 1 or site.has("oob"):
        raise site.unsupported()
    write, a, b, c = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3)))
    compute = one_direction(site, rounding.fused)
    if compute is None and kind.name == "f64":
        compute = _fused_f64
    form = FORMATS[kind.name]
    finish = _finish(site, lambda v: v)

    def close(values: Array) -> Array:
        return form.close_wide(finish(values))

    if compute is None and kind.name == "f32":
        compute = _finish(site, _flushing(_fused_f32) if site.has("ftz") else _fused_f32)
    if compute is not None:
        result = compute
        return lambda wave: write(wave, np.asarray(result(a(wave), b(wave), c(wave)))[()])

    def on_half(x: Array, y: Array, z: Array) -> Array:
        wide = [form.open(np.asarray(v).view(form.kind.dtype)).astype(np.float64) for v in (x, y, z)]
        # The product of two halves is exact in float64; only the sum can lack something.
        return rounded_sum(wide[0] * wide[1], wide[2], *_HALVES[form.kind.name], close)

    if form.lanes == 1:
        return lambda wave: write(wave, on_half(a(wave), b(wave), c(wave))[()])

    def packed(wave: Wave) -> None:
        halves = [unpack(r(wave)) for r in (a, b, c)]
        write(wave, pack(on_half(*(h[0] for h in halves)), on_half(*(h[1] for h in halves))))

    return packed


def _fused_f64(x: Array, y: Array, z: Array) -> Array:
    return rounding.fused(x, y, z)[0]


def _fused_f32(x: Array, y: Array, z: Array) -> Array:
    product, addend = np.asarray(x, np.float64) * y, np.asarray(z, np.float64)
    return rounded_sum(product, addend, 23, _TINY_F32, to_f32)


def _flushing(compute: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *values: flush_subnormals(compute(*(flush_subnormals(np.asarray(v)) for v in values)))


def divide(site: Site) -> Step:
    """`div`: with a rounding it is exact; so are `.approx` and `.full` here; the hardware's lack up to 2 units.

    By a number above 2^126 `.approx` gives zero, of an infinity NaN, as its inverse is no normal number.
    """
    kind = site.type
    rounded = one_direction(site, rounding.quotient)
    if rounded is not None:
        return binary(site, kind, rounded)
    quotient = _by_inverse if site.has("approx") else np.divide
    return binary(site, kind, elementwise(kind, quotient, site.has("ftz")))


_NO_INVERSE = 2.0**126


def _by_inverse(a: Array, b: Array) -> Array:
    large = (np.abs(b) > _NO_INVERSE) & np.isfinite(b)
    return np.where(large, a * np.float32(0.0), np.divide(a, b)).astype(np.float32)


def minimum_maximum(site: Site) -> Step:
    """`min`, `max` of two or three: a number wins over NaN, unless `.NaN`; +0 is greater than -0.

    `.xorsign.abs`: of the magnitudes, with the product's sign.
    """
    kind, smaller = site.type, site.parts[0] == "min"
    pick: Any = (
        (np.minimum if smaller else np.maximum) if site.has("NaN") else (np.fmin if smaller else np.fmax)
    )

    def of_two(a: Array, b: Array) -> Array:
        result: Array = pick(a, b)
        zeros = (result == 0) & (np.signbit(a) != np.signbit(b))
        if np.any(zeros):
            both = np.equal(a, b) & zeros
            result = np.where(both, -0.0 if smaller else 0.0, result).astype(result.dtype)
        return result

    def of_magnitudes(a: Array, b: Array) -> Array:
        sign = np.signbit(a) ^ np.signbit(b)
        size = np.abs(of_two(np.abs(a), np.abs(b)))
        return np.where(sign, -size, size)

    compute = elementwise(kind, of_magnitudes if site.has("xorsign") else of_two, site.has("ftz"))
    if site.operand_count == 3:
        return binary(site, kind, compute)
    write, a, b, c = (site.write(0, kind), *(site.read(k, kind) for k in (1, 2, 3)))
    return lambda wave: write(wave, compute(compute(a(wave), b(wave)), c(wave)))


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
