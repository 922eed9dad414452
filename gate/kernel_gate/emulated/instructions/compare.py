"""Comparison and selection (PTX ISA 9.0, 9.7.6 and 9.7.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernel_gate.emulated.formats import FORMATS, pack, unpack
from kernel_gate.emulated.registry import Step, opcode
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.types import TYPES, Array, PtxType, flush_subnormals
from kernel_gate.emulated.wave import Wave

Test = Callable[[Any, Any], Array]

_ORDERED: dict[str, Test] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_COMBINE: dict[str, Any] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _either_nan(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def float_test(name: str) -> Test:
    """A comparison of floats: ordered ones fail on NaN, those with `u` hold on it."""
    if name == "num":
        return lambda a, b: ~_either_nan(a, b)
    if name == "nan":
        return _either_nan
    if name == "ne":
        return lambda a, b: np.not_equal(a, b) & ~_either_nan(a, b)
    if name in _ORDERED:
        return _ORDERED[name]
    ordered = _ORDERED[name[:-1]]
    return lambda a, b: ordered(a, b) | _either_nan(a, b)


def _test(site: Site, kind: PtxType) -> Test:
    name = site.parts[1]
    if kind.kind not in ("float", "packed"):
        if name not in _ORDERED:
            raise site.unsupported()
        return _ORDERED[name]
    test, form = float_test(name), FORMATS[kind.name]
    if form.kind.dtype.kind == "f" and not site.has("ftz"):
        return test
    close = flush_subnormals if site.has("ftz") else lambda v: v
    return lambda a, b: test(close(form.open(a)), close(form.open(b)))


def _combiner(site: Site, position: int) -> Callable[[Wave, Array], Array]:
    """`.and`, `.or`, `.xor` with a further predicate operand."""
    name = site.first(*_COMBINE)
    if name is None:
        return lambda _wave, holds: holds
    combine, extra = _COMBINE[name], site.read(position, TYPES["pred"])
    return lambda wave, holds: combine(holds, extra(wave))


@opcode("setp")
def set_predicate(site: Site) -> Step:
    """`setp d|q, a, b`: d is the comparison, q its opposite; each combined with a further predicate."""
    kind, pred = site.type, TYPES["pred"]
    if kind.kind == "packed":
        return _set_predicate_pair(site)
    test, combine = _test(site, kind), _combiner(site, 3)
    first, second = site.pair(0)
    write, a, b = site.writer(first, pred), site.read(1, kind), site.read(2, kind)
    opposite = None if second is None else site.writer(second, pred)

    def step(wave: Wave) -> None:
        holds = np.asarray(test(a(wave), b(wave)))[()]
        if opposite is not None:
            opposite(wave, combine(wave, ~holds))
        write(wave, combine(wave, holds))

    return step


def _set_predicate_pair(site: Site) -> Step:
    """`setp` of packed halves: d for the lower one, q for the upper one."""
    kind, pred = site.type, TYPES["pred"]
    form, test = FORMATS[kind.name], float_test(site.parts[1])
    first, second = site.pair(0)
    if second is None:
        raise site.unsupported()
    low, high = site.writer(first, pred), site.writer(second, pred)
    a, b, combine = site.read(1, kind), site.read(2, kind), _combiner(site, 3)

    def step(wave: Wave) -> None:
        x = [form.open(h.view(form.kind.dtype)) for h in unpack(a(wave))]
        y = [form.open(h.view(form.kind.dtype)) for h in unpack(b(wave))]
        low(wave, combine(wave, test(x[0], y[0])))
        high(wave, combine(wave, test(x[1], y[1])))

    return step


@opcode("set")
def set_value(site: Site) -> Step:
    """`set`: all ones for integers, 1.0 for floats, of each half for packed types."""
    result, kind = site.types[0], site.type
    combine = _combiner(site, 3)
    write, a, b = site.write(0, result), site.read(1, kind), site.read(2, kind)
    ones = _truth(result)
    if kind.kind != "packed":
        test = _test(site, kind)
        zero = np.zeros((), result.dtype)
        return lambda wave: write(wave, np.where(combine(wave, test(a(wave), b(wave))), ones, zero)[()])
    form, pair_test = FORMATS[kind.name], float_test(site.parts[1])

    def step(wave: Wave) -> None:
        x, y = (unpack(r(wave)) for r in (a, b))
        halves = [
            np.where(
                pair_test(form.open(p.view(form.kind.dtype)), form.open(q.view(form.kind.dtype))),
                ones,
                np.uint16(0),
            )
            for p, q in zip(x, y, strict=True)
        ]
        write(wave, pack(*halves))

    return step


def _truth(result: PtxType) -> Any:
    """What `set` writes where the comparison holds; of packed types, one half."""
    if result.name == "bf16" or result.name == "bf16x2":
        return np.uint16(0x3F80)
    if result.name == "f16x2":
        return np.uint16(0x3C00)
    if result.kind == "float":
        return result.dtype.type(1)
    return (~np.zeros((), result.raw)).view(result.dtype)


@opcode("selp")
def select(site: Site) -> Step:
    """`selp d, a, b, p`: a where p holds, else b."""
    kind = site.type
    write, a, b, p = site.write(0, kind), site.read(1, kind), site.read(2, kind), site.read(3, TYPES["pred"])
    return lambda wave: write(wave, np.where(p(wave), a(wave), b(wave))[()])


@opcode("slct")
def select_by_sign(site: Site) -> Step:
    """`slct d, a, b, c`: a where c is not negative, else b."""
    kind, by = site.types[0], site.types[1]
    write, a, b, c = site.write(0, kind), site.read(1, kind), site.read(2, kind), site.read(3, by)
    return lambda wave: write(wave, np.where(np.greater_equal(c(wave), 0), a(wave), b(wave))[()])
