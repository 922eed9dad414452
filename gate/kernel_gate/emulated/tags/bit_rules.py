"""What instructions on bits make of tags: masks, shifts and permutations that keep the parts of a register apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from kernel_gate.emulated.ptx.model import Operand
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags.keys import UNTAGGED, Keys, joined
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
    return _lanes_with_bits(wave.spread(read(wave)), lanes)


def _lanes_with_bits(values: Any, lanes: int) -> Any:
    cells = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), lanes, -1)
    return (cells != 0).any(axis=2).T


def _where(tags: Keys | None, held: Any) -> Keys | None:
    return None if tags is None else np.where(held, tags, UNTAGGED)


def _shift(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    kind, left = site.type, site.parts[0] == "shl"
    amount = site.reader(operands[1], TYPES["u32"])

    def result(wave: Wave) -> Keys | None:
        tags = shadows.get(wave, operands[0], kind.size)
        return None if tags is None else _shifted(shadows, tags, wave.spread(amount(wave)), left=left)

    return result


def _funnel(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    """`shf`: 32 bits of the 64 of b:a."""
    amount, lanes = site.reader(operands[2], TYPES["u32"]), shadows.lanes(4)
    left, wraps = site.has("l"), site.has("wrap")

    def result(wave: Wave) -> Keys | None:
        tags = [shadows.get(wave, operand, 4) for operand in operands[:2]]
        if all(tag is None for tag in tags):
            return None
        both = np.concatenate([shadows.filled(wave, tag, lanes) for tag in tags], axis=1)
        by = wave.spread(amount(wave)).astype(np.int64)
        by = by & 31 if wraps else np.minimum(by, 32)
        return _shifted(shadows, both, 32 - by if left else by, left=False)[:, :lanes]

    return result


def _shifted(shadows: Shadows, tags: Keys, by: Any, *, left: bool) -> Keys:
    """Tags after a shift of each thread's own; by a part of a lane, a lane of the result has two in it."""
    bits = 8 * shadows.flow.granule
    whole, rest = np.divmod(np.minimum(np.asarray(by).astype(np.int64), 64), bits)
    keys = _moved(tags, whole, left=left)
    if rest.any():
        keys = np.where(rest > 0, np.minimum(keys, _moved(tags, whole + 1, left=left)), keys)
    return keys


def _moved(tags: Keys, lanes: Any, *, left: bool) -> Keys:
    """Each thread's lanes moved by so many."""
    at = np.arange(tags.shape[1])[:, None]
    source = at - lanes if left else at + lanes
    inside = (source >= 0) & (source < tags.shape[1])
    index = np.broadcast_to(np.clip(source, 0, tags.shape[1] - 1), tags.shape)
    return np.where(inside, np.take_along_axis(tags, index, axis=1), UNTAGGED)


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
        keys = np.take_along_axis(both, np.broadcast_to(lane, (len(both), *lane.shape)), axis=1)
        together: Keys = keys.reshape(len(keys), lanes, granule, -1).min(axis=2)
        return together

    return result


def _extract(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    """`bfe`: so many bits from a position on; what the sign fills has nothing in it."""
    start, length = (site.reader(operand, TYPES["u32"]) for operand in operands[1:3])
    kind, bits = site.type, 8 * shadows.flow.granule

    def result(wave: Wave) -> Keys | None:
        tags = shadows.get(wave, operands[0], kind.size)
        if tags is None:
            return None
        keys = _shifted(shadows, tags, wave.spread(start(wave)), left=False)
        at = np.arange(tags.shape[1])[:, None] * bits
        return np.where(at < wave.spread(length(wave)).astype(np.int64), keys, UNTAGGED)

    return result


def _insert(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    """`bfi d, a, b, c, n`: the lowest n bits of a stand in b from bit c on."""
    start, length = (site.reader(operand, TYPES["u32"]) for operand in operands[2:4])
    kind, bits = site.type, 8 * shadows.flow.granule

    def result(wave: Wave) -> Keys | None:
        field, around = (shadows.get(wave, operand, kind.size) for operand in operands[:2])
        if field is None and around is None:
            return None
        lanes = shadows.lanes(kind.size)
        first = wave.spread(start(wave)).astype(np.int64)
        last = first + wave.spread(length(wave)).astype(np.int64)
        at = np.arange(lanes)[:, None] * bits
        inside = (at < last) & (at + bits > first)
        covered = (at >= first) & (at + bits <= last)
        moved = _shifted(shadows, shadows.filled(wave, field, lanes), first, left=True)
        kept = np.where(covered, UNTAGGED, shadows.filled(wave, around, lanes))
        return np.minimum(np.where(inside, moved, UNTAGGED), kept)

    return result


def _logic_of_three(shadows: Shadows, site: Site, operands: tuple[Operand, ...]) -> Result | None:
    """`lop3`: an operand is in those lanes of the result in which some bit would be another without it."""
    kind, lanes = site.type, shadows.lanes(site.type.size)
    reads = [site.reader(operand, kind) for operand in operands[:3]]
    table = site.reader(operands[3], TYPES["u32"])

    def result(wave: Wave) -> Keys | None:
        tags = [shadows.get(wave, operand, kind.size) for operand in operands[:3]]
        if all(tag is None for tag in tags):
            return None
        values, choose = [wave.spread(read(wave)) for read in reads], int(np.max(table(wave)))
        plain = _chosen(values, choose)
        parts: list[Keys | None] = []
        for position, tag in enumerate(tags):
            other = [~value if k == position else value for k, value in enumerate(values)]
            changed = plain ^ _chosen(other, choose)
            parts.append(_where(tag, _lanes_with_bits(changed, lanes)))
        return joined(parts)

    return result


def _chosen(values: list[Any], table: int) -> Any:
    """What a table of eight makes of three values, bit by bit."""
    bits = np.zeros_like(values[0])
    for case in range(8):
        if table >> case & 1:
            term = np.full_like(bits, -1 if bits.dtype.kind == "i" else np.iinfo(bits.dtype).max)
            for bit, value in zip((4, 2, 1), values, strict=True):
                term &= value if case & bit else ~value
            bits |= term
    return bits


BIT_RULES: dict[str, Rule] = {
    "bfe": _extract,
    "bfi": _insert,
    "lop3": _logic_of_three,
    "and": _logic,
    "or": _logic,
    "xor": _logic,
    "not": _logic,
    "shl": _shift,
    "shr": _shift,
    "shf": _funnel,
    "prmt": _permute,
}
