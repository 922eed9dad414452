"""Who knows of whose accesses to shared memory, for kernels that order a part of a block.

For every thread: up to which event it knows of each warp of its block, and of asynchronous copies. A vector clock
with warps for processes (Fidge 1988, Mattern 1989): what any thread of a warp did before one of its threads arrived
counts as known to who waits, so some races inside a warp are missed and no ordered pair is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int64]


@dataclass(slots=True)
class Clocks:
    """Clocks of the threads of a wave."""

    threads: int
    warps: int
    """Warps of a block; the column with this number is that of asynchronous copies."""
    granules: int
    known: Index = field(init=False)
    """(threads, warps + 1): accesses with smaller events are known."""
    reader: Index = field(init=False)
    """(granules, warps): event and thread of the last read by each warp of the block; -1: none."""

    def __post_init__(self) -> None:
        self.known = np.zeros((self.threads, self.warps + 1), np.int64)
        self.reader = np.full((self.granules, self.warps), -1, np.int64)

    def remember_reads(self, granule: npt.NDArray[np.integer], warp: Index, key: Index) -> None:
        """Warps of their blocks read granules."""
        self.reader[granule, warp] = key

    def at_arrival(self, threads: Index, warp: Index, now: int) -> Index:
        """What arriving threads hand over: (threads, warps + 1). `warp`: of the block; `now`: events so far."""
        clocks = self.known[threads]
        clocks[np.arange(len(threads)), warp] = now
        return clocks

    def learn(self, threads: Index, clocks: Index) -> None:
        """Threads come to know what was handed over."""
        self.known[threads] = np.maximum(self.known[threads], clocks)

    def join(self, threads: Index, warp: Index) -> None:
        """The threads of each warp of the wave pass a warp barrier together."""
        together = np.zeros((int(warp.max()) + 1, self.warps + 1), np.int64)
        np.maximum.at(together, warp, self.known[threads])
        self.known[threads] = together[warp]
