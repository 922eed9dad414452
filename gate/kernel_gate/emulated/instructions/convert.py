"""Conversions (PTX ISA 9.0, 9.7.9 `cvt`): float to integer clamps, the rest rounds once as it says.

NaN becomes the integer 0, or the one with only the top bit set where a side has 64 bits or the source is f64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated.formats import FORMATS, Format, close_exact, pack
from kernel_gate.emulated.instructions.convert_fp8 import PAIRS, convert_fp8
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.rounding import directed, round_f32
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array, PtxType, flush_subnormals
from kernel_gate.emulated.wave import Wave

_TO_INTEGRAL: dict[str, Callable[[Any], Any]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_DIRECTIONS = ("rn", "rz", "rm", "rp")
_TF32_DROPPED = np.uint32(0x1FFF)
_LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38}

Conversion = Callable[[Array], Array]


@opcode("cvt")
def convert(site: Site) -> Step:
    """`cvt`."""
    if len(site.types) != 2 or site.has("rs", "scaled"):
        raise site.unsupported()
    target, source = site.types
    if target.name in PAIRS or source.name in PAIRS:
        return convert_fp8(site, target, source)
    if target.name == "tf32":
        return _to_tf32(site, source)
    if target.kind == "packed":
        return _convert_pair(site, target, source)
    if source.kind == "packed" or site.has("rna"):
        raise site.unsupported()
    conversion = _conversion(site, target, source)
    write, a = site.write(0, target), site.read(1, source)
    return lambda wave: write(wave, conversion(a(wave)))


def _conversion(site: Site, target: PtxType, source: PtxType) -> Conversion:
    if source.kind == "float":
        return _from_float(site, target, source)
    if target.kind == "float":
        return _integer_to_float(site, target)
    return _integer_to_integer(site, target)


def _integer_to_integer(site: Site, target: PtxType) -> Conversion:
    info = np.iinfo(target.dtype)

    def convert_integers(values: Array) -> Array:
        values = np.asarray(values)
        if site.has("sat"):
            own = np.iinfo(values.dtype)
            low, high = max(info.min, own.min), min(info.max, own.max)
            values = np.clip(values, values.dtype.type(low), values.dtype.type(high))
        return values.astype(target.dtype)[()]

    return convert_integers


def _integer_to_float(site: Site, target: PtxType) -> Conversion:
    direction = site.first(*_DIRECTIONS) or "rn"
    form = FORMATS[target.name]

    def convert_integers(values: Array) -> Array:
        values = np.asarray(values)
        if direction == "rn" and target.name in ("f32", "f64"):
            return values.astype(target.dtype)[()]
        wide = values.astype(np.float64)
        error = np.zeros_like(wide) if values.dtype.itemsize < 8 else _integer_error(values, wide)
        return round_to(form, wide, error, direction)[()]

    return convert_integers


def _integer_error(values: Array, wide: Array) -> Array:
    """What float64 lost of 64-bit integers: its sign is what directed rounding needs."""
    bound = np.float64(9.223372036854775807e18 if values.dtype.kind == "i" else 1.8446744073709551615e19)
    back = np.where(
        wide >= bound,
        np.iinfo(values.dtype).max,
        np.minimum(wide, np.nextafter(bound, 0)).astype(values.dtype),
    )
    return np.where(values > back, 1.0, np.where(values < back, -1.0, np.where(wide >= bound, -1.0, 0.0)))


def round_to(form: Format, value: Array, error: Array, direction: str) -> Array:
    """A float64 and what it lacks → a format, in a direction."""
    if direction == "rn":
        return close_exact(form, value, error)
    if form.kind.name == "f64":
        return directed(value, error, direction)
    if form.kind.name == "f32":
        return round_f32(value, direction, error)
    nearest = np.asarray(close_exact(form, value, error))
    back = form.open(nearest).astype(np.float64)
    over = (back > value) | ((back == value) & (error < 0))
    under = (back < value) | ((back == value) & (error > 0))
    # Neighbours of a float are the neighbours of its bits: up in magnitude is one more.
    down_if, up_if = {
        "rm": (over, np.False_),
        "rp": (np.False_, under),
        "rz": (over & ~np.signbit(back), under & np.signbit(back)),
    }[direction]
    bits = nearest.view(np.uint16)
    negative, one = bits >= 0x8000, np.uint16(1)
    lower = np.where(bits == 0, np.uint16(0x8001), np.where(negative, bits + one, bits - one))
    upper = np.where(bits == 0x8000, np.uint16(1), np.where(negative, bits - one, bits + one))
    stepped = np.where(down_if, lower, np.where(up_if, upper, bits))
    return np.where(np.isfinite(value), stepped, bits).astype(np.uint16).view(form.kind.dtype)


def _from_float(site: Site, target: PtxType, source: PtxType) -> Conversion:
    form = FORMATS[source.name]
    integral = next((f for name, f in _TO_INTEGRAL.items() if site.has(name)), None)
    direction = site.first(*_DIRECTIONS) or "rn"
    flush = site.has("ftz")

    def opened(values: Array) -> Array:
        wide = form.open(np.asarray(values).view(form.kind.dtype))
        if flush and wide.dtype == np.float32:
            wide = flush_subnormals(wide)
        return np.asarray(integral(wide) if integral is not None else wide)

    if target.kind != "float":
        if integral is None:
            raise site.unsupported()
        top_bit = target.size == 8 or source.name == "f64"
        return lambda values: to_integer(opened(values), target, top_bit)[()]
    close = FORMATS[target.name]

    def convert_floats(values: Array) -> Array:
        wide = opened(values)
        if site.has("sat"):
            wide = np.where(np.isnan(wide), 0, np.clip(wide, 0, 1)).astype(wide.dtype)
        if site.has("relu"):
            wide = np.maximum(wide, wide.dtype.type(0))
        if site.has("satfinite"):
            wide = _finite(wide, target.name)
        if target.name == source.name:
            result = close.close(wide)
        elif target.name == "f64":
            result = wide.astype(np.float64)
        elif direction != "rn":
            exact = wide.astype(np.float64)
            result = round_to(close, exact, np.zeros_like(exact), direction)
        else:
            result = (
                close.close_wide(wide) if wide.dtype == np.float64 else close.close(wide.astype(np.float32))
            )
        if flush and target.name == "f32":
            result = flush_subnormals(result)
        return np.asarray(result).view(target.dtype)[()] if result is not values else np.array(result)[()]

    return convert_floats


def _finite(values: Array, name: str) -> Array:
    """`.satfinite`: what is too large becomes the largest number of the target."""
    most = values.dtype.type(_LARGEST[name])
    return np.where(np.isnan(values), values, np.clip(values, -most, most))


def to_integer(values: Array, target: PtxType, top_bit_of_nan: bool = False) -> Array:
    """Integral floats → integers, clamped to the type's range; NaN → 0, or the integer of only the top bit."""
    wide = np.asarray(values).astype(np.float64)
    info = np.iinfo(target.dtype)
    # The largest 64-bit integers are no float64: compare, do not clip.
    high, low = wide >= float(info.max), wide <= float(info.min)
    unknown = np.isnan(wide)
    inside = np.where(high | low | unknown, 0.0, wide).astype(target.dtype)
    kind = target.dtype.type
    clamped = np.where(high, kind(info.max), np.where(low, kind(info.min), inside))
    if not top_bit_of_nan:
        return clamped
    top = target.raw.type(1 << (8 * target.size - 1)).view(target.dtype)
    return np.where(unknown, top, clamped)


def _to_tf32(site: Site, source: PtxType) -> Step:
    """`cvt.rna.tf32.f32`: the lower 13 bits go, ties away from zero; `.rn` to even, `.rz` towards zero."""
    mode = site.first("rna", "rn", "rz")
    if source.name != "f32" or mode is None:
        raise site.unsupported()
    write, a = site.write(0, site.types[0]), site.read(1, source)
    half, one = np.uint32(0x1000), np.uint32(1)

    def step(wave: Wave) -> None:
        values = np.asarray(a(wave))
        if site.has("relu"):
            values = np.maximum(values, np.float32(0))
        bits = values.view(np.uint32)
        if mode == "rna":
            rounded = bits + half
        elif mode == "rn":
            rounded = bits + half - one + ((bits >> np.uint32(13)) & one)
        else:
            rounded = bits
        result = np.where(np.isinf(values), bits, rounded & ~_TF32_DROPPED)
        if site.has("satfinite"):
            too_large = np.abs(result.view(np.float32)) == np.inf
            result = np.where(too_large, (bits & np.uint32(0x80000000)) | np.uint32(0x7F7FE000), result)
        write(wave, np.where(np.isnan(values), bits & ~_TF32_DROPPED, result)[()])

    return step


def _convert_pair(site: Site, target: PtxType, source: PtxType) -> Step:
    """`cvt.rn.f16x2.f32 d, a, b`: a goes to the upper half, b to the lower one."""
    direction = site.first(*_DIRECTIONS) or "rn"
    if source.name != "f32" or direction not in ("rn", "rz"):
        raise site.unsupported()
    form, relu, finite = FORMATS[target.name], site.has("relu"), site.has("satfinite")
    write, a, b = site.write(0, target), site.read(1, source), site.read(2, source)

    def close(values: Array) -> Array:
        if relu:
            values = np.maximum(values, np.float32(0))
        if finite:
            values = _finite(values, form.kind.name)
        if direction == "rn":
            return form.close(values)
        wide = np.asarray(values, np.float64)
        return round_to(form, wide, np.zeros_like(wide), direction)

    def step(wave: Wave) -> None:
        write(wave, pack(close(b(wave)), close(a(wave))))

    return step
