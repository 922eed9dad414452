"""What instructions on bits make of tags: masks, shifts and permutations that keep the parts of a register apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from kernel_gate.emulated.ptx.model import Operand
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags.keys import UNTAGGED, Keys, in_lanes, joined, over_lanes
from kernel_gate.emulated.tags.shadows import Shadows
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.wave import Wave

Result: TypeAlias = Callable[[Wave], Keys | None]
"""The tags of a result, from the operands as they stand before the instruction."""
Rule: TypeAlias = Callable[[Shadows, Site, tuple[Operand, ...]], Result | None]
"""From an instruction and its operands without the first; None: it joins all that they have."""


def _logic(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    """Lane by lane; a lane that a mask clears has nothing in it."""
    kind = site.type
    lanes = shadows.lanes(kind.size)
    reads = [site.reader(operand, kind) for operand in operands]
    masks = site.parts[0] == "and"

    def result(wave: Wave) -> Keys | None:
        tags = [shadows.get(wave, operand, kind.size) for operand in operands]
        if all(tag is None for tag in tags):
            return None
        if masks:
            tags = [
                _where(tag, _nonzero(wave, reads[1 - k], lanes)) if len(reads) == 2 else tag
                for k, tag in enumerate(tags)
            ]
        return joined(tags)

    return result


def _nonzero(wave: Wave, read: Callable[[Wave], Any], lanes: int) -> Any:
    """(lanes, active threads): where a lane of a value has a bit set."""
    values = np.ascontiguousarray(wave.spread(read(wave)))
    cells = values.view(np.uint8).reshape(len(values), lanes, -1)
    return (cells != 0).any(axis=2).T


def _where(tags: Keys | None, held: Any) -> Keys | None:
    return None if tags is None else np.where(held, tags, UNTAGGED)


def _shift(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    kind, left = site.type, site.parts[0] == "shl"
    lanes, amount = shadows.lanes(kind.size), site.reader(operands[1], TYPES["u32"])
    bits = 8 * shadows.flow.granule

    def result(wave: Wave) -> Keys | None:
        tags = joined([shadows.get(wave, operands[0], kind.size)])
        if tags is None:
            return None
        by = amount(wave)
        if by.ndim:
            if (by != by[0]).any():
                return in_lanes(over_lanes(tags), lanes)
            by = by[0]
        whole, rest = divmod(int(by), bits)
        found = _shifted(tags, whole, left)
        return np.minimum(found, _shifted(tags, whole + 1, left)) if rest else found

    return result


def _shifted(tags: Keys, by: int, left: bool) -> Keys:
    found = np.full_like(tags, UNTAGGED)
    kept = tags.shape[1] - by
    if kept > 0:
        if left:
            found[:, by:] = tags[:, :kept]
        else:
            found[:, :kept] = tags[:, by:]
    return found


def _funnel(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    """`shf`: 32 bits of the 64 of b:a."""
    amount, lanes = site.reader(operands[2], TYPES["u32"]), shadows.lanes(4)
    left, bits = site.has("l"), 8 * shadows.flow.granule

    def result(wave: Wave) -> Keys | None:
        tags = [shadows.get(wave, operand, 4) for operand in operands[:2]]
        if all(tag is None for tag in tags):
            return None
        both = np.concatenate([shadows.filled(wave, tag, lanes) for tag in tags], axis=1)
        by = wave.spread(amount(wave))
        if (by != by[0]).any():
            return in_lanes(over_lanes(both), lanes)
        down = 32 - int(by[0]) % 32 if left else int(by[0]) % 32
        whole, rest = divmod(down, bits)
        found = _shifted(both, whole, left=False)
        if rest:
            found = np.minimum(found, _shifted(both, whole + 1, left=False))
        return found[:, :lanes]

    return result


def _permute(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    """`prmt.b32`: each byte of the result is one of eight; other modes join."""
    if len(site.parts) > 2 or shadows.flow.granule == 4:
        return None
    selector = site.read(3, TYPES["u32"])
    granule, lanes = shadows.flow.granule, shadows.lanes(4)

    def result(wave: Wave) -> Keys | None:
        tags = [shadows.get(wave, operand, 4) for operand in operands[:2]]
        if all(tag is None for tag in tags):
            return None
        both = np.concatenate([shadows.filled(wave, tag, lanes) for tag in tags], axis=1)
        choose = wave.spread(selector(wave)).astype(np.int64)
        lane = np.stack([(choose >> (4 * byte) & 7) // granule for byte in range(4)])
        found = np.take_along_axis(both, np.broadcast_to(lane, (len(both), *lane.shape)), axis=1)
        together: Keys = found.reshape(len(found), lanes, granule, -1).min(axis=2)
        return together

    return result


BIT_RULES: dict[str, Rule] = {
    "and": _logic,
    "or": _logic,
    "xor": _logic,
    "not": _logic,
    "shl": _shift,
    "shr": _shift,
    "shf": _funnel,
    "prmt": _permute,
}
