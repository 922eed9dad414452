"""Bytes and halves of words (PTX ISA 9.0, video instructions; integer arithmetic of `u16x2` and `s16x2`).

`vadd2` … `vset4` work on the lanes of whole words; scalar `vadd` … `vset` on one byte, half or word of each operand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernel_gate.emulated.ptx.model import Register
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Read, Site
from kernel_gate.emulated.types import TYPES, Array, PtxType
from kernel_gate.emulated.wave import Wave

_COMPARE: dict[str, Any] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_COMPUTE: dict[str, Callable[[Array, Array], Array]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vavrg": lambda a, b: (a + b + (a + b >= 0)) >> 1,
    "vabsdiff": lambda a, b: np.abs(a - b),
    "vmin": np.minimum,
    "vmax": np.maximum,
}
_LANES = tuple(f"{name}{count}" for name in (*_COMPUTE, "vset") for count in (2, 4))


def lanes(words: Array, count: int, signed: bool) -> Array:
    """(…, count) values of 64 bits, the lowest lane first."""
    dtype = np.dtype(f"{'i' if signed else 'u'}{4 // count}")
    words = np.ascontiguousarray(words).view(np.uint32)
    return words.reshape(*words.shape, 1).view(dtype).astype(np.int64)


def joined(values: Array, count: int) -> Array:
    """Words whose lanes hold the low bits of the values."""
    narrow = np.ascontiguousarray(values.astype(np.dtype(f"i{4 // count}")))
    return narrow.view(np.uint32)[..., 0]


def _saturate(values: Array, bits: int, signed: bool) -> Array:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return np.clip(values, low, high)


@opcode(*_LANES)
def on_lanes(site: Site) -> Step:
    """`vadd2`, `vadd4` and their kin: lane by lane, or with `.add` their sum added to c; other lanes come from c."""
    name, count = site.parts[0][:-1], int(site.parts[0][-1])
    if len(site.types) != (2 if name == "vset" else 3):
        raise site.unsupported()
    left, right = site.types[-2:]
    result = TYPES["u32"] if name == "vset" else site.types[0]
    signed, saturate, add = result.kind == "int", site.has("sat"), site.has("add")
    compute = _compare(site) if name == "vset" else _COMPUTE[name]
    word = TYPES["u32"]
    write, a, b, c = (site.write(0, word), *(site.read(k, word) for k in (1, 2, 3)))
    bits = 32 // count

    def step(wave: Wave) -> None:
        x = lanes(a(wave), count, left.kind == "int")
        y = lanes(b(wave), count, right.kind == "int")
        values = compute(x, y)
        if add:
            total = values.sum(-1) + np.asarray(c(wave)).astype(np.int64)
            write(wave, total.astype(np.uint32)[()])
            return
        if saturate:
            values = _saturate(values, bits, signed)
        write(wave, joined(values, count)[()])

    return step


def _compare(site: Site) -> Callable[[Array, Array], Array]:
    test = _COMPARE[next(p for p in site.parts if p in _COMPARE)]
    return lambda a, b: test(a, b).astype(np.int64)


@opcode("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset", "vmad")
def on_parts(site: Site) -> Step:
    """Scalar video instructions: parts of words in full width, then `.sat`, then a second operation."""
    name = site.parts[0]
    types = [t for t in site.types if t.size == 4]
    if len(types) != (2 if name == "vset" else 3) or name == "vmad":
        raise site.unsupported()
    result = TYPES["u32"] if name == "vset" else types[0]
    left, right = types[-2:]
    write, a, b = site.write(0, result), _part(site, 1, left), _part(site, 2, right)
    compute = _compare(site) if name == "vset" else _COMPUTE.get(name)
    second = site.first("add", "min", "max")
    c = site.read(3, result) if second is not None and site.operand_count > 3 else None
    wrap = site.has("wrap")

    def step(wave: Wave) -> None:
        x, y = a(wave), b(wave)
        if compute is None:
            y = y & 31 if wrap else np.clip(y & 0xFFFFFFFF, 0, 32)
            values = x << y if name == "vshl" else x >> y
        else:
            values = compute(x, y)
        if site.has("sat"):
            values = _saturate(values, 32, result.kind == "int")
        values = values.astype(result.raw).view(result.dtype)
        if c is not None:
            z = c(wave)
            values = (
                values + z if second == "add" else (np.minimum if second == "min" else np.maximum)(values, z)
            )
        write(wave, np.asarray(values)[()])

    return step


def _part(site: Site, position: int, kind: PtxType) -> Read:
    """A word, or with `.b0` … `.b3`, `.h0`, `.h1` behind its name a byte or half of it, as 64-bit integers."""
    operand = site.operand(position)
    if not isinstance(operand, Register) or not operand.part:
        whole = site.read(position, kind)
        return lambda wave: np.asarray(whole(wave)).astype(np.int64)
    word = site.reader(replace(operand, part=""), TYPES["u32"])
    count, lane = (4 if operand.part[0] == "b" else 2), int(operand.part[1])
    return lambda wave: lanes(word(wave), count, kind.kind == "int")[..., lane]


def packed_integers(site: Site) -> Step:
    """`add`, `sub`, `min`, `max`, `neg`, `abs` of `u16x2` and `s16x2`; `.relu` of signed ones."""
    name, signed = site.parts[0], site.type.name == "s16x2"
    word = TYPES["u32"]
    write, a = site.write(0, word), site.read(1, word)
    compute = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}.get(name)
    if compute is None:
        raise site.unsupported()
    b, relu, saturate = site.read(2, word), site.has("relu"), site.has("sat")

    def step(wave: Wave) -> None:
        values = compute(lanes(a(wave), 2, signed), lanes(b(wave), 2, signed))
        if relu:
            values = np.maximum(values, 0)
        if saturate:
            values = _saturate(values, 16, signed)
        write(wave, joined(values, 2)[()])

    return step
