"""Payloads through atomics: sums add them up, others keep that of the value that is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from kernel_gate.emulated.access import Access, Located, access
from kernel_gate.emulated.operands import items
from kernel_gate.emulated.payloads.fields import LEVELS, Payload, add, by_level, modulo
from kernel_gate.emulated.payloads.sources import FLOATS, Source, float_values, payload_of
from kernel_gate.emulated.ptx.model import Operand
from kernel_gate.emulated.site import Site
from kernel_gate.emulated.tags.keys import UNTAGGED, Index, Keys, in_lanes
from kernel_gate.emulated.tags.shadows import Shadows, around
from kernel_gate.emulated.types import TYPES, Array, PtxType
from kernel_gate.emulated.watching import Wrap
from kernel_gate.emulated.wave import Wave


@dataclass(slots=True)
class _Atomic:
    """One execution of `atom` or `red` by the active threads."""

    plan: _Plan
    threads: Index
    payloads: list[list[Payload]]
    keys: list[Keys | None]
    raw: list[Array]
    old: Keys = field(init=False)
    """(LEVELS, lanes of all operands, active threads): the payloads of what stood there before."""

    def __post_init__(self) -> None:
        lanes = self.plan.lanes * len(self.plan.sources)
        self.old = np.full((LEVELS, lanes, len(self.threads)), UNTAGGED, np.int64)

    def sum_up(self, wave: Wave, at: Located) -> None:
        """Add the payloads of the threads that reach the same address."""
        here, start = self._here(wave, at)
        cells = at.cells.view(self.plan.bits.dtype)
        for part in range(len(self.plan.sources)):
            self._sum_one(wave, replace(at, index=start + part), cells, part, here)

    def _sum_one(self, wave: Wave, at: Located, cells: Array, part: int, here: Index) -> None:
        plan = self.plan
        places, place = np.unique(at.index, return_inverse=True)
        first = np.zeros(len(places), np.int64)
        first[place] = np.arange(len(place))
        held = plan.shadows.load(wave, at, plan.kind.size, plan.site.number)
        halves = float_values(plan.kind, cells[at.index])
        lanes = max(plan.lanes // len(halves), 1)
        new = []
        for half, value in enumerate(halves):
            tags = np.full((LEVELS, len(place)), UNTAGGED, np.int64)
            if held is not None:
                tags = held[:, (half + 1) * held.shape[1] // len(halves) - 1]
            before = payload_of(tags, value)[:, first]
            added = self.payloads[part][half][:, here]
            total = np.zeros((LEVELS, len(places)), np.uint64)
            for level in range(LEVELS):
                np.add.at(total[level], place, added[level])
            total = by_level(lambda level, x: modulo(x, level), total)
            if plan.returns:
                seen = add(before[:, place], _before_each(added, place)).astype(np.int64)
                lane = part * plan.lanes + half * lanes
                self.old[:, lane : lane + lanes, here] = seen[:, None]
            whole = add(before, total)[:, place].astype(np.int64)
            new.append(in_lanes(whole[:, None], lanes))
        there = [keys for keys in new if keys is not None]
        plan.shadows.store(wave, at, np.concatenate(there, axis=1), plan.kind.size)

    def note_old(self, wave: Wave, at: Located) -> None:
        """Keep the payloads of what stands there."""
        here, start = self._here(wave, at)
        plan = self.plan
        for part in range(len(plan.sources)):
            held = plan.shadows.load(wave, replace(at, index=start + part), plan.kind.size, plan.site.number)
            if held is not None:
                self.old[:, part * plan.lanes : (part + 1) * plan.lanes, here] = held

    def keep_what_is_left(self, wave: Wave, at: Located) -> None:
        """After the step: the payload of the thread whose value is there now."""
        here, start = self._here(wave, at)
        plan = self.plan
        cells = at.cells.view(plan.bits.dtype)
        for part in range(len(plan.sources)):
            index = start + part
            left = np.flatnonzero(cells[index] == self.raw[part][here])
            keys = self.keys[part]
            outer, wave.active = wave.active, wave.index[left]
            own = None if keys is None else keys[..., here[left]]
            plan.shadows.store(wave, replace(at, index=index[left]), own, plan.kind.size)
            wave.active = outer

    def _here(self, wave: Wave, at: Located) -> tuple[Index, Index]:
        return np.searchsorted(self.threads, wave.index), wave.spread(at.index).astype(np.int64)


def _before_each(added: Payload, place: Index) -> Payload:
    """What threads of the same address with lower numbers have added: they take turns in the order of their numbers."""
    order = np.argsort(place, kind="stable")
    ordered = added[:, order]
    running = np.cumsum(ordered, axis=1) - ordered
    heads = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
    running -= running[:, heads][:, place[order]]
    result = np.empty_like(running)
    result[:, order] = running
    return by_level(lambda level, x: modulo(x, level), result)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is fixed of one `atom` or `red`."""

    shadows: Shadows
    site: Site
    kind: PtxType
    bits: PtxType
    sources: tuple[Source, ...]
    lanes: int
    returns: int
    sums: bool
    where: Access
    results: tuple[Operand, ...]


def atomic(shadows: Shadows, site: Site) -> Wrap:
    """`atom`, `red`."""
    returns, kind = int(site.parts[0] == "atom"), site.type
    operands = items(site.operand(returns + (2 if site.has("cas") else 1)))
    bits = kind if kind.kind in FLOATS else TYPES[f"b{8 * kind.size}"]
    plan = _Plan(
        shadows,
        site,
        kind,
        bits,
        tuple(Source(shadows, operand, bits, site.reader(operand, bits)) for operand in operands),
        shadows.lanes(kind.size),
        returns,
        site.has("add") and kind.kind in FLOATS,
        replace(access(site, returns, "read", kind, len(operands)), counted=False),
        items(site.operand(0)) if returns else (),
    )
    follows = kind.size >= shadows.flow.granule

    def watch(wave: Wave) -> Iterator[None]:
        one = _begin(plan, wave)
        if follows:
            plan.where.perform(wave, one.sum_up if plan.sums else one.note_old)
        yield
        if follows and not plan.sums:
            plan.where.perform(wave, one.keep_what_is_left)
        for number, item in enumerate(plan.results):
            shadows.put(wave, site, item, one.old[:, number * plan.lanes : (number + 1) * plan.lanes])

    return around(shadows, watch)


def _begin(plan: _Plan, wave: Wave) -> _Atomic:
    values = [source.values(wave) for source in plan.sources]
    payloads = [
        source.payloads(wave, value) if plan.sums else []
        for source, value in zip(plan.sources, values, strict=True)
    ]
    keys = [plan.shadows.get(wave, source.operand, plan.kind.size) for source in plan.sources]
    raw = [wave.spread(source.read(wave)) for source in plan.sources]
    return _Atomic(plan, wave.index, payloads, keys, raw)
