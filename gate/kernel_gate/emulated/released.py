"""What blocks know of each other's accesses to global memory, by what was released where.

A thread that releases hands on what it did before its fence, what its warp did before their last warp barrier, what its
block did before their last barrier, and what its block had learned: vector clocks (Fidge 1988, Mattern 1989) with
blocks for processes, and single threads and warps where no barrier puts the others' accesses before the release. Where
blocks and places are too many for such tables, one clock stands for all blocks: a race with a third one can be missed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.wave import Wave
from kernel_gate.program import WARP

Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Place = tuple[int, int]
"""Number of a segment, and granule within it."""
_MOST_CELLS = 1 << 22
_MOST_APART = 1024
"""Threads or warps that are told apart in one place; of more it is taken that their blocks had met."""


@dataclass(slots=True)
class Knowledge:
    """Accesses that are known: those with smaller events."""

    of_block: Index
    """By number in the grid; one for all where the tables would be too large."""
    of_thread: dict[int, int] = field(default_factory=dict)
    """By number in the grid: threads of which more is known than of their blocks."""
    of_warp: dict[int, int] = field(default_factory=dict)
    """The same of whole warps, by the numbers of their first threads."""

    def learn(self, other: Knowledge, block_threads: int) -> None:
        """Know what `other` knows as well."""
        np.maximum(self.of_block, other.of_block, out=self.of_block)
        for own, more in ((self.of_thread, other.of_thread), (self.of_warp, other.of_warp)):
            for key, event in more.items():
                if event > own.get(key, 0):
                    own[key] = event
            if len(own) > _MOST_APART:
                columns = [key // block_threads % len(self.of_block) for key in own]
                np.maximum.at(self.of_block, columns, list(own.values()))
                own.clear()

    def covers(self, threads: Index, warps: Index, events: Index) -> Flags:
        """Whether the access of each thread, of the warp of that first thread, is known beside what blocks are."""
        seen = [
            max(self.of_thread.get(thread, 0), self.of_warp.get(warp, 0))
            for thread, warp in zip(threads.tolist(), warps.tolist(), strict=True)
        ]
        result: Flags = events < np.array(seen, np.int64)
        return result


@dataclass(slots=True)
class Released:
    """What was released at each place, and what each block of the wave has learned of it."""

    blocks: int
    """How many the grid has."""
    block_threads: int
    places: dict[Place, Knowledge] = field(default_factory=dict)
    learned: list[Knowledge] = field(default_factory=list)
    """By block of the wave."""
    met: Index = field(default_factory=lambda: np.zeros(0, np.int64))
    """Event at which threads of each block of the wave last waited for each other, by whatever means."""
    fenced: Index = field(default_factory=lambda: np.zeros(0, np.int64))
    """Event of the last fence of each block of the wave."""
    columns: int = 1

    def __post_init__(self) -> None:
        self.columns = self.blocks

    def enter(self, blocks: int) -> None:
        """A new wave of so many blocks starts."""
        self.learned = []
        self._bound(blocks)
        self.learned = [Knowledge(np.zeros(self.columns, np.int64)) for _ in range(blocks)]
        self.met, self.fenced = np.zeros(blocks, np.int64), np.zeros(blocks, np.int64)

    def _bound(self, more: int) -> None:
        """Keep the tables small when so many rows are added."""
        if self.columns > 1 and (len(self.places) + len(self.learned) + more) * self.columns > _MOST_CELLS:
            self.columns = 1
            for knowledge in (*self.places.values(), *self.learned):
                knowledge.of_block = knowledge.of_block.max(keepdims=True)

    def release(
        self, place: Place, block: int, wave: Wave, threads: Index | None, warp_barrier: Index
    ) -> None:
        """Threads of a block of the wave, as numbers in it, hand on what their block has learned, and did themselves.

        None for many threads, of which it is taken that all of the block stood at its fence with them. `warp_barrier`:
        event of the last barrier of each warp of the wave.
        """
        if not (fenced := int(self.fenced[block])):
            return
        knowledge = self.places.get(place)
        if knowledge is None:
            self._bound(1)
            knowledge = self.places[place] = Knowledge(np.zeros(self.columns, np.int64))
        own = Knowledge(np.zeros(self.columns, np.int64))
        column = int(wave.blocks[block]) % self.columns
        own.of_block[column] = fenced if threads is None else min(fenced, int(self.met[block]))
        if threads is not None:
            numbers = wave.blocks[block] * self.block_threads + wave.thread_in_block[threads]
            own.of_thread = dict.fromkeys(numbers.tolist(), fenced)
            before = np.minimum(warp_barrier[wave.warp[threads]], fenced)
            first = numbers - numbers % self.block_threads % WARP
            own.of_warp = dict(zip(first.tolist(), before.tolist(), strict=True))
        knowledge.learn(self.learned[block], self.block_threads)
        knowledge.learn(own, self.block_threads)

    def acquire(self, place: Place, block: int) -> None:
        """A block of the wave learns what was released there."""
        if (knowledge := self.places.get(place)) is not None:
            self.learned[block].learn(knowledge, self.block_threads)

    def acquire_all(self, blocks: Flags, now: int) -> None:
        """These blocks of the wave have met: they know all there was."""
        for block in np.flatnonzero(blocks):
            self.learned[block].of_block[:] = now

    def unknown(self, asked: Flags, blocks: Index, threads: Index, events: Index, single: Flags) -> Flags:
        """Which accesses of other threads, of those that are asked for, the blocks of the wave do not know.

        `single`: the access was that thread's alone.
        """
        unknown = asked.copy()
        for block in np.unique(blocks[asked]).tolist():
            learned, chosen = self.learned[block], np.flatnonzero(asked & (blocks == block))
            column = threads[chosen] // self.block_threads % self.columns
            unknown[chosen] = events[chosen] >= learned.of_block[column]
            if learned.of_thread or learned.of_warp:
                chosen = chosen[unknown[chosen] & single[chosen]]
                other = threads[chosen]
                first = other - other % self.block_threads % WARP
                unknown[chosen] = ~learned.covers(other, first, events[chosen])
        return unknown
