"""Payloads through arithmetic on floats, conversions, literals and the bit tricks that floats are negated with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kernel_gate.emulated.payloads import fields, literals
from kernel_gate.emulated.payloads.fields import LEVELS, Payload
from kernel_gate.emulated.payloads.memory import Escape, PayloadMemory
from kernel_gate.emulated.payloads.sources import FLOATS, Source
from kernel_gate.emulated.ptx.model import FloatBits, Integer
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags import registers
from kernel_gate.emulated.tags.keys import UNTAGGED, Keys, in_lanes
from kernel_gate.emulated.tags.shadows import Shadows, around
from kernel_gate.emulated.types import TYPES, Array
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave

_ROOTS = ("sqrt", "rsqrt", "lg2")
FOLLOWED = frozenset(("add", "sub", "mul", "fma", "mad", "neg", "abs", "div", "rcp", "ex2", "min", "max")) | {
    *("sin", "cos", "tanh", "copysign"),
    *_ROOTS,
}
_ROUNDING_TO_INTEGERS = ("rni", "rzi", "rmi", "rpi")
_INTEGER_TRICK = 2.0**23
"""Adding 1.5 · 2²³ rounds a float32 to an integer."""


def combine(name: str, values: Sequence[Array], payloads: Sequence[Payload], result: Array | None) -> Payload:
    """The payload of one result, from the operands' values and payloads; `result`: its value, where it matters."""
    first = payloads[0]
    match name:
        case "add":
            return fields.add(*payloads)
        case "sub":
            return fields.add(first, fields.negate(payloads[1]))
        case "mul":
            return fields.multiply(*payloads)
        case "fma" | "mad":
            return fields.multiply_add(*payloads)
        case "neg":
            return fields.negate(first)
        case "abs":
            return np.where(np.signbit(values[0]), fields.negate(first), first)
        case "div":
            return fields.multiply(first, fields.inverse(payloads[1]))
        case "rcp":
            return fields.inverse(first)
        case "sqrt":
            return fields.root(first)
        case "rsqrt":
            return fields.inverse(fields.root(first))
        case "ex2":
            # What underflows is nothing: a masked score of -1e30 or of -∞.
            power = fields.exp2(first)
            return power if result is None else np.where(result == 0, np.uint64(0), power)
        case "lg2":
            return fields.log2(first)
        case "tanh":
            return literals.tanh(first)
        case "copysign":
            # The magnitude of the second operand with the sign of the first.
            turned = np.signbit(values[0]) != np.signbit(values[1])
            return np.where(turned, fields.negate(payloads[1]), payloads[1])
        case "min" | "max":
            return _chosen(name, values, payloads)
    return fields.hashed(first, name)


def _chosen(name: str, values: Sequence[Array], payloads: Sequence[Payload]) -> Payload:
    best, value = payloads[0], values[0]
    for payload, other in zip(payloads[1:], values[1:], strict=True):
        replaced = other < value if name == "min" else other > value
        # One order among ties for all programs.
        replaced = replaced | np.isnan(value) | ((other == value) & (payload[1] < best[1]))
        best, value = np.where(replaced, payload, best), np.where(replaced, other, value)
    return best


def arithmetic(shadows: Shadows, memory: PayloadMemory, site: Site) -> Wrap:
    """Around an instruction of `FOLLOWED` on floats."""
    name, kind = site.parts[0], site.type
    sources = [Source.of(shadows, site, k, kind) for k in range(1, site.operand_count)]
    target = Source.of(shadows, site, 0, kind)
    lanes = max(shadows.lanes(kind.size) // (2 if kind.kind == "packed" else 1), 1)
    clamps = site.has("sat")

    def watch(wave: Wave) -> Iterator[None]:
        values = [source.values(wave) for source in sources]
        payloads = [source.payloads(wave, value) for source, value in zip(sources, values, strict=True)]
        yield
        memory.roots |= name in _ROOTS
        halves = []
        for half, result in enumerate(target.values(wave)):
            of_half = [value[half] for value in values]
            payload = combine(name, of_half, [p[half] for p in payloads], result)
            plain = _stands_for_itself(result, of_half, clamps)
            if name in ("add", "fma", "sub") and kind.name == "f32":
                plain = plain | _rounds_to_integers(of_half[-1], payloads[-1][half])
                memory.residues |= bool(((payload == 0).all(axis=0) & (result != 0) & ~plain).any())
            halves.append(in_lanes(_keys(payload, plain, wave.active_count)[:, None], lanes))
        shadows.put(wave, site, site.operand(0), _joined(halves))

    return around(shadows, watch)


def _stands_for_itself(result: Array, values: Sequence[Array], clamps: bool) -> Array:
    """Where the value is all that a result says: NaN and infinities, and clamped ends."""
    plain = ~np.isfinite(result)
    for value in values:
        plain = plain | ~np.isfinite(value)
    if clamps:
        plain = plain | (result == 0) | (result == 1)
    return plain


def _rounds_to_integers(last: Array, payload: Payload) -> Array:
    """Where adding a constant rounds to integers. A sum may be as large: it differs from thread to thread, or it is
    rounded and has not its value's payload.
    """
    size = np.abs(last)
    large = (size >= _INTEGER_TRICK) & (size < 2 * _INTEGER_TRICK) & (size == np.rint(size))
    if not large.any() or size.min() != size.max():
        return np.zeros_like(large)
    constant: Array = large & (payload == literals.lift(last)).all(axis=0)
    return constant


def _keys(payload: Payload, plain: Array, threads: int) -> Keys:
    keys = np.broadcast_to(payload.astype(np.int64), (LEVELS, threads))
    return np.where(plain, UNTAGGED, keys) if plain.any() else keys


def _joined(halves: Sequence[Keys | None]) -> Keys | None:
    there = [half for half in halves if half is not None]
    return there[0] if len(there) == 1 else np.concatenate(there, axis=1)


def convert(shadows: Shadows, memory: PayloadMemory, site: Site) -> Wrap | None:
    """`cvt`: between floats a payload stays what it is; an integer made of a float is its value alone."""
    target = next((TYPES[part] for part in site.parts[1:] if part in TYPES), None)
    source = site.types[-1]
    if target is None or target.kind not in FLOATS or source.kind not in FLOATS:
        if source.kind in FLOATS:
            return dropped(shadows, memory, site, "becomes an integer")
        if target is not None and target.kind not in FLOATS:
            return registers.watch(shadows, site)
        return registers.clear(shadows, site)
    if site.has(*_ROUNDING_TO_INTEGERS):
        return dropped(shadows, memory, site, "is rounded to an integer")
    if target.size < 2 or source.size < 2 or site.has("e4m3x2", "e5m2x2"):
        return dropped(shadows, memory, site, "becomes a float of 8 bits")
    sources = [Source.of(shadows, site, k, source) for k in range(1, site.operand_count)]
    lanes = max(shadows.lanes(target.size) // (2 if target.kind == "packed" else 1), 1)

    def watch(wave: Wave) -> Iterator[None]:
        halves = []
        # `cvt.f16x2.f32 d, a, b`: a becomes the upper half.
        for operand in reversed(sources):
            values = operand.values(wave)
            for value, payload in zip(values, operand.payloads(wave, values), strict=True):
                keys = _keys(payload, ~np.isfinite(value), wave.active_count)
                halves.append(in_lanes(keys[:, None], lanes))
        yield
        shadows.put(wave, site, site.operand(0), _joined(halves))

    return around(shadows, watch)


def dropped(shadows: Shadows, memory: PayloadMemory, site: Site, why: str) -> Wrap:
    """Around an instruction whose result is its value alone; noted when an operand had a payload."""
    escape = Escape.at(site.instruction, why)

    def note(wave: Wave) -> None:
        if any(shadows.get(wave, operand) is not None for operand in site.instruction.operands[1:]):
            memory.escapes.add(escape)

    return registers.clear(shadows, site, note)


def literal_move(shadows: Shadows, site: Site, bits: FloatBits) -> Wrap:
    """`mov` of a literal."""
    payload = literals.literal(bits).astype(np.int64)
    finite = bool(np.isfinite(literals.literal_value(bits)))
    lanes = shadows.lanes(site.type.size)

    def watch(wave: Wave) -> Iterator[None]:
        yield
        keys = in_lanes(np.broadcast_to(payload, (LEVELS, wave.active_count))[:, None], lanes)
        shadows.put(wave, site, site.operand(0), keys if finite else None)

    return around(shadows, watch)


_SIGN_MASKS = {("and", 0x7FFFFFFF): "abs", ("xor", 0x80000000): "neg"}


def sign_mask(shadows: Shadows, site: Site) -> Wrap | None:
    """Masks that take the magnitude of a float32 or turn its sign; other bit operations move whole lanes."""
    literals_of = (o.value & 0xFFFFFFFF for o in site.instruction.operands[1:] if isinstance(o, Integer))
    name = _SIGN_MASKS.get((site.parts[0], next(literals_of, 0)))
    if name is None or site.type.size != 4:
        return registers.watch(shadows, site)
    source = Source.of(shadows, site, 1, TYPES["f32"])

    def watch(wave: Wave) -> Iterator[None]:
        keys = None
        if shadows.get(wave, source.operand) is not None:
            values = source.values(wave)
            payload = combine(name, values, source.payloads(wave, values), None)
            keys = in_lanes(payload.astype(np.int64)[:, None], shadows.lanes(4))
        yield
        shadows.put(wave, site, site.operand(0), keys)

    return around(shadows, watch)
