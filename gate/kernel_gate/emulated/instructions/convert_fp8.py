"""Conversions between pairs of 8-bit floats and pairs of wider ones (PTX ISA 9.0, 9.7.9 `cvt`)."""

from __future__ import annotations

import numpy as np

from kernel_gate.emulated.formats import FORMATS, pack, unpack
from kernel_gate.emulated.registry import Step
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import Array, PtxType
from kernel_gate.emulated.wave import Wave
from kernel_gate.small_floats import BY_PTX_NAME

PAIRS = ("e4m3x2", "e5m2x2")


def convert_fp8(site: Site, target: PtxType, source: PtxType) -> Step:
    """`cvt` to or from `e4m3x2` and `e5m2x2`; of two operands the first goes to the upper byte."""
    if target.name in PAIRS:
        if not site.has("satfinite"):
            raise site.unsupported()
        return _narrow(site, target, source)
    if target.name != "f16x2":
        raise site.unsupported()
    small, form = BY_PTX_NAME[source.name[:4]], FORMATS["f16"]
    write, a = site.write(0, target), site.read(1, source)

    def widen(wave: Wave) -> None:
        words = np.asarray(a(wave))
        halves = (
            small.decode(codes).astype(np.float32)
            for codes in (words.astype(np.uint8), (words >> 8).astype(np.uint8))
        )
        low, high = (form.close(_relu(site, half)) for half in halves)
        write(wave, pack(low, high)[()])

    return widen


def _narrow(site: Site, target: PtxType, source: PtxType) -> Step:
    small, form = BY_PTX_NAME[target.name[:4]], FORMATS.get(source.name)
    if form is None or source.name == "f64":
        raise site.unsupported()
    write, a = site.write(0, target), site.read(1, source)
    second = None if form.lanes == 2 else site.read(2, source)

    def narrow(wave: Wave) -> None:
        if second is None:
            low, high = (form.open(half.view(form.kind.dtype)) for half in unpack(a(wave)))
        else:
            high, low = a(wave), second(wave)
        codes = (small.encode_saturated(_relu(site, v)).astype(np.uint16) for v in (low, high))
        first, upper = codes
        write(wave, (first | (upper << np.uint16(8)))[()])

    return narrow


def _relu(site: Site, values: Array) -> Array:
    return np.maximum(values, np.float32(0)) if site.has("relu") else values
