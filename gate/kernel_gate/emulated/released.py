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

Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Place = tuple[int, int]
"""Number of a segment, and granule within it."""
_MOST_CELLS = 1 << 22
_MOST_APART = 1024
"""Threads or warps that are told apart in one place; of more it is taken that their blocks had met."""


@dataclass(slots=True)
class History:
    """Accesses that are known: those with smaller events."""

    of_block: Index
    """By number in the grid; one for all where the tables would be too large."""
    of_thread: dict[int, int] = field(default_factory=dict)
    """By number in the grid: threads of which more is known than of their blocks."""
    of_warp: dict[int, int] = field(default_factory=dict)
    """The same of whole warps, by the numbers of their first threads."""

    def learn(self, other: History, block_threads: int) -> None:
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
    places: dict[Place, History] = field(default_factory=dict)
    learned: list[History] = field(default_factory=list)
    """By block of the wave."""
    columns: int = 1

    def __post_init__(self) -> None:
        self.columns = self.blocks

    def enter(self, blocks: int) -> None:
        """A new wave of so many blocks starts."""
        self.learned = []
        self._bound(blocks)
        self.learned = [History(np.zeros(self.columns, np.int64)) for _ in range(blocks)]

    def _bound(self, more: int) -> None:
        """Keep the tables small when so many rows are added."""
        if self.columns > 1 and (len(self.places) + len(self.learned) + more) * self.columns > _MOST_CELLS:
            self.columns = 1
            for history in (*self.places.values(), *self.learned):
                history.of_block = history.of_block.max(keepdims=True)

    def release(self, place: Place, block: int, own: History) -> None:
        """A block of the wave hands on what it has learned, and `own` of itself."""
        history = self.places.get(place)
        if history is None:
            self._bound(1)
            history = self.places[place] = History(np.zeros(self.columns, np.int64))
        history.learn(self.learned[block], self.block_threads)
        history.learn(own, self.block_threads)

    def of(self, number: int, event: int) -> History:
        """What a block did before an event."""
        history = History(np.zeros(self.columns, np.int64))
        history.of_block[number % self.columns] = event
        return history

    def acquire(self, place: Place, block: int) -> None:
        """A block of the wave learns what was released there."""
        if (history := self.places.get(place)) is not None:
            self.learned[block].learn(history, self.block_threads)

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
                first = other - other % self.block_threads % 32
                unknown[chosen] = ~learned.covers(other, first, events[chosen])
        return unknown
