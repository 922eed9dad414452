"""Orders in which a GPU may run warps, and lanes that nothing holds together: unkind ones, each repeated by its seed.

By default all threads run as one, which hides what depends on it. A schedule gives one warp the turn until it waits or
ends; the next is chosen by the schedule's order. Lanes of a warp are run in two halves where the mode says so, but come
together at instructions that name their lanes (shuffles, votes, matrix products, warp barriers), and the four warps of
a warpgroup where it multiplies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.terminators import END, WAIT
from kernel_gate.emulated.wave import Snapshot

if TYPE_CHECKING:
    from kernel_gate.emulated.ptx.model import Instruction
    from kernel_gate.emulated.scheduler import Flow
    from kernel_gate.emulated.wave import Index

    Mask = npt.NDArray[np.bool_]

_TOGETHER = frozenset(
    {"shfl", "vote", "match", "activemask", "redux", "elect"}
    | {"mma", "wmma", "wgmma", "ldmatrix", "stmatrix", "movmatrix"}
)
_GROUP = 128
"""Threads of a warpgroup."""
_SPIN_FROM = 16
"""Steps that a warp has in a row before it is asked whether it goes round in a loop."""
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
    """The warp of each thread, or its half of one."""
    _rank: Index = field(init=False)
    """The rank of each group: the smallest goes first."""
    _together: frozenset[int] = field(init=False)
    """Basic blocks that all lanes of a warp run together."""
    _by_warpgroup: frozenset[int] = field(init=False)
    """Basic blocks that all warps of a warpgroup run together."""
    _warpgroup: Index = field(init=False)
    """The warpgroup of each thread."""

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
        self._together = self._blocks_with(
            lambda i: i.parts[0] in _TOGETHER or i.parts[:2] == ("bar", "warp")
        )
        self._by_warpgroup = self._blocks_with(lambda i: i.parts[:2] == ("wgmma", "mma_async"))
        self._warpgroup = wave.block_of * wave.launch.block_threads + wave.thread_in_block // _GROUP

    def _blocks_with(self, named: Callable[[Instruction], bool]) -> frozenset[int]:
        numbers, start = set(), 0
        for number, block in enumerate(self.flow.kernel.blocks):
            body = self.flow.kernel.flat.body[start : start + block.count]
            if any(named(i) for i in body):
                numbers.add(number)
            start += block.count
        return frozenset(numbers)

    def run(self) -> None:
        """Run all threads to their end. Raises `LaunchFault`."""
        flow, last, steps = self.flow, -1, 0
        seen: tuple[int, Index, Snapshot] | None = None
        while True:
            runnable = (flow.at < WAIT) & ~flow.wave.stalled
            if not runnable.any():
                if flow.wave.stalled.any():
                    flow.wave.stalled[:] = False
                elif not flow.release():
                    return
                continue
            group, block, active = self._turn(runnable)
            if not active.any():
                continue
            threads = np.flatnonzero(active)
            if group != last:
                steps, seen = 0, None
            steps, last = steps + 1, group
            flow.wave.select(threads)
            if steps > _PATIENCE or (seen is not None and self._goes_round(seen, block, threads)):
                self._rank[group] = int(self._rank.max()) + 1
                # It may wait for threads that could go on from a barrier.
                self._let_go()
                last = -1
                continue
            if steps >= _SPIN_FROM and steps & (steps - 1) == 0:
                seen = block, threads, Snapshot.of(flow.wave)
            following = flow.run_apart(block, threads)
            if following is not None:
                flow.at[threads] = following

    def _goes_round(self, seen: tuple[int, Index, Snapshot], block: int, threads: Index) -> bool:
        """Whether the threads are where they were, and nothing has changed in their registers."""
        at, those, registers = seen
        return block == at and np.array_equal(threads, those) and registers.still(self.flow.wave)

    def _turn(self, runnable: Mask) -> tuple[int, int, Mask]:
        """The group whose turn it is, a block, and the threads that run it; none where others had to be let go on."""
        flow, left = self.flow, runnable
        while True:
            group = self._next(left)
            members = left & (self._group == group)
            block = flow.lowest(flow.at[members])
            active = members & (flow.at == block)
            whole = self._whole(block, active)
            if whole is None:
                return group, block, active
            others = whole & runnable & (flow.at != block) & ~members
            if others.any():
                # They come first, one group of them at a time.
                members = others & (self._group == self._next(others))
                block = flow.lowest(flow.at[members])
                return group, block, members & (flow.at == block)
            there = whole & runnable & (flow.at == block)
            absent = whole & ~runnable & (flow.at < END)
            if block not in self._by_warpgroup or not absent.any():
                return group, block, there
            left = left & ~whole
            if not left.any():
                return group, block, there & (not self._let_go())

    def _whole(self, block: int, active: Mask) -> Mask | None:
        """The threads that run a block together with some others; None where each group runs it for itself."""
        of: Index | None = None
        if block in self._by_warpgroup:
            of = self._warpgroup
        elif block in self._together and self.schedule.mode is Mode.REVERSED:
            of = self.flow.wave.warp
        return None if of is None else np.equal(of, of[active][0]).astype(np.bool_)

    def _let_go(self) -> bool:
        """Whether some of the threads that wait can go on now."""
        flow = self.flow
        if flow.wave.stalled.any():
            flow.wave.stalled[:] = False
            return True
        waiting, ended = flow.at == WAIT, flow.at == END
        return bool(waiting.any()) and flow.barriers.may_open(waiting, ended) and flow.release()

    def _next(self, runnable: Mask) -> int:
        groups = self._group[runnable]
        return int(groups[np.argmin(self._rank[groups])])
