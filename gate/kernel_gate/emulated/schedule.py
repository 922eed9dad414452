"""Orders in which a GPU may run warps, and lanes that nothing holds together: unkind ones, each repeated by its seed.

By default all threads run as one, which hides what depends on it. A schedule gives one warp the turn until it waits or
ends; the next is chosen by the schedule's order. Lanes of a warp are run in two halves where the mode says so, but come
together at instructions that name their lanes (shuffles, votes, matrix products, warp barriers).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from kernel_gate.emulated.terminators import WAIT

if TYPE_CHECKING:
    from kernel_gate.emulated.scheduler import Flow
    from kernel_gate.emulated.wave import Index

_TOGETHER = frozenset({"shfl", "vote", "match", "activemask", "redux", "mma", "wmma", "wgmma", "ldmatrix"})
_PATIENCE = 500
"""Steps that a warp has in a row while others can run: one that waits for another would wait for ever."""


class Mode(StrEnum):
    """Who goes first."""

    FIRST = "the first warp first"
    LAST = "the last warp first"
    STARVED = "one warp starved"
    REVERSED = "upper lanes first"


@dataclass(frozen=True, slots=True)
class Schedule:
    """One order of turns."""

    mode: Mode
    seed: int

    def __str__(self) -> str:
        return f"{self.mode}, seed {self.seed}"


@dataclass(slots=True)
class Turns:
    """The turns of the threads of a wave."""

    flow: Flow
    schedule: Schedule
    _group: Index = field(init=False)
    """Of each thread: its warp, or its half of one."""
    _rank: Index = field(init=False)
    """Of each group: the smallest goes first."""
    _together: frozenset[int] = field(init=False)
    """Basic blocks that all lanes of a warp run together."""

    def __post_init__(self) -> None:
        wave, mode = self.flow.wave, self.schedule.mode
        halves = mode is Mode.REVERSED
        self._group = wave.warp * 2 + wave.lane // 16 if halves else wave.warp.copy()
        count = int(self._group.max()) + 1
        self._rank = np.arange(count)
        if mode is Mode.LAST:
            self._rank = self._rank[::-1].copy()
        elif mode is Mode.REVERSED:
            self._rank = self._rank ^ 1
        elif mode is Mode.STARVED:
            self._rank[int(np.random.default_rng(self.schedule.seed).integers(count))] = count
        self._together = self._blocks_together()

    def _blocks_together(self) -> frozenset[int]:
        found, start = set(), 0
        for number, block in enumerate(self.flow.kernel.blocks):
            body = self.flow.kernel.flat.body[start : start + block.count]
            if any(i.parts[0] in _TOGETHER or i.parts[:2] == ("bar", "warp") for i in body):
                found.add(number)
            start += block.count
        return frozenset(found)

    def run(self) -> None:
        """Run all threads to their end. Raises `LaunchFault`."""
        flow, last, steps = self.flow, -1, 0
        while True:
            runnable = (flow.at < WAIT) & ~flow.wave.stalled
            if not runnable.any():
                if flow.wave.stalled.any():
                    flow.wave.stalled[:] = False
                elif not flow.release():
                    return
                continue
            group = self._next(runnable)
            steps = steps + 1 if group == last else 0
            if steps > _PATIENCE:
                self._rank[group] = int(self._rank.max()) + 1
                steps = 0
            last = group
            members = runnable & (self._group == group)
            block = int(flow.at[members].min())
            active = members & (flow.at == block)
            if block in self._together and self.schedule.mode is Mode.REVERSED:
                warp = flow.wave.warp == group // 2
                others = warp & runnable & (flow.at != block) & ~members
                if others.any():
                    block = int(flow.at[others].min())
                    active = others & (flow.at == block)
                else:
                    active = warp & runnable & (flow.at == block)
            flow.run_apart(block, np.flatnonzero(active))

    def _next(self, runnable: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
        groups = np.unique(self._group[runnable])
        return int(groups[np.argmin(self._rank[groups])])
