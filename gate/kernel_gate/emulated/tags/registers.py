"""How tags go from register to register: what went into a result.

Arithmetic joins the tags of its operands. What only moves bits keeps them apart, by lanes of `Flow.granule` bytes:
moves, packing, conversions of integers, selections, shifts by whole lanes, masks, permutations. A selection has the
tags of what it chose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kernel_gate.emulated.operands import items
from kernel_gate.emulated.ptx.model import Group, Operand
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags.bit_rules import BIT_RULES, Result, Rule
from kernel_gate.emulated.tags.flow import CARRIES_NONE
from kernel_gate.emulated.tags.keys import Keys, in_lanes, joined, over_lanes
from kernel_gate.emulated.tags.shadows import Shadows, around
from kernel_gate.emulated.types import TYPES, PtxType
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave

_INTEGERS = ("int", "uint", "bits")


def watch(shadows: Shadows, site: Site) -> Wrap | None:
    """What to put around an instruction from registers to registers; None when it moves nothing that is followed."""
    target = site.operand(0) if site.operand_count else None
    if target is None or not shadows.follows(target):
        return None
    if isinstance(target, Group) and site.parts[0] == "mov":
        return _unpack(shadows, site, target)
    result, written = _result(shadows, site), targets(site)

    def watch(wave: Wave) -> Iterator[None]:
        tags = result(wave)
        yield
        for item in written:
            shadows.put(wave, site, item, tags)

    return around(shadows, watch)


def targets(site: Site) -> tuple[Operand, ...]:
    """The registers that an instruction writes; of a pair `d|p` both."""
    return items(site.operand(0)) if site.operand_count else ()


def clear(shadows: Shadows, site: Site, note: Callable[[Wave], None] = lambda _wave: None) -> Wrap:
    """Around an instruction whose results have no tags; `note` is called before it runs."""
    written = targets(site)

    def watch(wave: Wave) -> Iterator[None]:
        note(wave)
        yield
        for target in written:
            shadows.put(wave, site, target, None)

    return around(shadows, watch)


def _result(shadows: Shadows, site: Site) -> Result:
    name = site.parts[0]
    operands = site.instruction.operands[1:]
    build = _RULES.get(name)
    rule = build(shadows, site, operands) if build is not None else None
    return rule if rule is not None else _everything(shadows, site, operands)


def _everything(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result:
    """What went into any operand is in every lane of the result; of packed values half by half."""
    kind = site.types[0] if site.types else TYPES["b32"]
    if site.parts[0] in CARRIES_NONE:
        return _nothing
    if kind.kind in ("packed", "lanes"):
        return _by_halves(shadows, operands, kind)
    target = site.register_type(site.operand(0))
    lanes = shadows.lanes(target.size if target is not None else kind.size)
    return lambda wave: in_lanes(shadows.everything(wave, operands), lanes)


def _nothing(_wave: Wave) -> Keys | None:
    """A condition has no tags."""
    return None


def _by_halves(shadows: Shadows, operands: tuple[Operand, ...], kind: PtxType) -> Result:
    half = shadows.lanes(kind.size) // 2

    def result(wave: Wave) -> Keys | None:
        tags = joined([shadows.get(wave, operand, kind.size) for operand in operands])
        if tags is None or half == 0:
            return tags
        parts = [in_lanes(over_lanes(tags[:, k : k + half]), half) for k in (0, half)]
        return np.concatenate([part for part in parts if part is not None], axis=1)

    return result


def _move(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    source = operands[0]
    if not isinstance(source, Group):
        return lambda wave: shadows.get(wave, source)
    size = site.type.size // len(source.items)
    return lambda wave: shadows.group(wave, source, size)


def _unpack(shadows: Shadows, site: Site, target: Group) -> Wrap:
    source = site.operand(1)
    lanes = shadows.lanes(site.type.size // len(target.items))

    def watch(wave: Wave) -> Iterator[None]:
        tags = shadows.get(wave, source)
        yield
        for position, item in enumerate(target.items):
            part = None if tags is None else tags[:, position * lanes : (position + 1) * lanes].copy()
            shadows.put(wave, site, item, part if part is not None and part.shape[1] else None)

    return around(shadows, watch)


def _select(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    chosen = site.read(3, TYPES["pred"])

    def result(wave: Wave) -> Keys | None:
        first, second = shadows.get(wave, operands[0]), shadows.get(wave, operands[1])
        if first is None and second is None:
            return None
        lanes = max(tags.shape[1] for tags in (first, second) if tags is not None)
        return np.where(chosen(wave), shadows.filled(wave, first, lanes), shadows.filled(wave, second, lanes))

    return result


def _convert(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    if len(site.types) != 2:
        return None
    target, source = site.types
    if target.kind == "packed":
        return _convert_pair(shadows, operands, target, source)
    lanes = shadows.lanes(target.size)
    if target.kind in _INTEGERS and source.kind in _INTEGERS:
        # Cut or extended: the lanes stay what they are.
        return lambda wave: shadows.get(wave, operands[0], min(source.size, target.size))

    def result(wave: Wave) -> Keys | None:
        return in_lanes(over_lanes(shadows.get(wave, operands[0], source.size)), lanes)

    return result


def _convert_pair(
    shadows: Shadows, operands: tuple[Operand, ...], target: PtxType, source: PtxType
) -> Result:
    """`cvt.f16x2.f32 d, a, b`: a becomes the upper half. From a pair, half by half."""
    half = max(shadows.lanes(target.size) // 2, 1)

    def halves(wave: Wave) -> list[Keys | None]:
        if len(operands) > 1:
            return [over_lanes(shadows.get(wave, operand, source.size)) for operand in operands[1::-1]]
        tags = shadows.get(wave, operands[0], source.size)
        if tags is None:
            return [None, None]
        middle = max(tags.shape[1] // 2, 1)
        return [over_lanes(tags[:, :middle]), over_lanes(tags[:, -middle:])]

    def result(wave: Wave) -> Keys | None:
        parts = halves(wave)
        if all(part is None for part in parts):
            return None
        if shadows.lanes(target.size) == 1:
            return joined(parts)
        return np.concatenate([shadows.filled(wave, in_lanes(part, half), half) for part in parts], axis=1)

    return result


_RULES: dict[str, Rule] = {
    "mov": _move,
    "cvta": _move,
    "selp": _select,
    "cvt": _convert,
    **BIT_RULES,
}
