"""Conversions (PTX ISA 9.0, 9.7.9 `cvt`): float to integer clamps and sends NaN to 0; the rest rounds as it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated.formats import FORMATS, pack
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.rounding import round_f32
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

Conversion = Callable[[Array], Array]


@opcode("cvt")
def convert(site: Site) -> Step:
    """`cvt`."""
    if len(site.types) != 2:
        raise site.unsupported()
    target, source = site.types
    if target.kind == "packed":
        return _convert_pair(site, target, source)
    if source.kind == "packed" or site.has("satfinite", "rs", "rna"):
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
    if direction != "rn" and target.name != "f32":
        raise site.unsupported()
    form = FORMATS[target.name]

    def convert_integers(values: Array) -> Array:
        values = np.asarray(values)
        if direction != "rn":
            wide = values.astype(np.float64)
            error = np.zeros_like(wide) if values.dtype.itemsize < 8 else _integer_error(values, wide)
            return round_f32(wide, direction, error)[()]
        if target.name in ("f32", "f64"):
            return values.astype(target.dtype)[()]
        return form.close_wide(values.astype(np.float64))[()]

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
        return lambda values: to_integer(opened(values), target)[()]
    if direction != "rn" and not (target.name == "f32" and source.name == "f64"):
        raise site.unsupported()
    close = FORMATS[target.name]

    def convert_floats(values: Array) -> Array:
        wide = opened(values)
        if site.has("sat"):
            wide = np.where(np.isnan(wide), 0, np.clip(wide, 0, 1)).astype(wide.dtype)
        if site.has("relu"):
            wide = np.where(np.isnan(wide), wide, np.maximum(wide, 0)).astype(wide.dtype)
        if target.name == source.name:
            result = close.close(wide)
        elif target.name == "f64":
            result = wide.astype(np.float64)
        elif direction != "rn":
            result = round_f32(wide, direction)
        else:
            result = (
                close.close_wide(wide) if wide.dtype == np.float64 else close.close(wide.astype(np.float32))
            )
        if flush and target.name == "f32":
            result = flush_subnormals(result)
        return np.asarray(result).view(target.dtype)[()] if result is not values else np.array(result)[()]

    return convert_floats


def to_integer(values: Array, target: PtxType) -> Array:
    """Integral floats → integers, clamped to the type's range; NaN → 0."""
    wide = np.asarray(values).astype(np.float64)
    info = np.iinfo(target.dtype)
    # The largest 64-bit integers are no float64: compare, do not clip.
    high, low = wide >= float(info.max), wide <= float(info.min)
    inside = np.where(high | low | np.isnan(wide), 0.0, wide).astype(target.dtype)
    kind = target.dtype.type
    return np.where(high, kind(info.max), np.where(low, kind(info.min), inside))


def _convert_pair(site: Site, target: PtxType, source: PtxType) -> Step:
    """`cvt.rn.f16x2.f32 d, a, b`: a goes to the upper half, b to the lower one."""
    if source.name != "f32" or site.first(*_DIRECTIONS) not in ("rn", None) or site.has("satfinite"):
        raise site.unsupported()
    form, relu = FORMATS[target.name], site.has("relu")
    write, a, b = site.write(0, target), site.read(1, source), site.read(2, source)

    def close(values: Array) -> Array:
        return form.close(np.where(np.isnan(values), values, np.maximum(values, 0)) if relu else values)

    def step(wave: Wave) -> None:
        write(wave, pack(close(b(wave)), close(a(wave))))

    return step
