"""Copies to shared memory that are under way, by thread and group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from kernel_gate.emulated.access import Access
    from kernel_gate.emulated.ptx.model import Instruction
    from kernel_gate.emulated.wave import Index, Wave


@dataclass(frozen=True, slots=True)
class Copy:
    """One instruction's copies."""

    threads: Index
    offsets: Index
    """First byte of each thread's destination in the wave's shared memory."""
    rows: npt.NDArray[np.uint8]
    """The bytes, one row per thread."""
    access: Access


@dataclass(slots=True)
class AsyncCopies:
    """What was issued and has not been waited for."""

    threads: int
    committed: Index = field(init=False)
    """Groups that each thread has closed."""
    pending: list[tuple[Copy, npt.NDArray[Any]]] = field(default_factory=list)
    """Copies with the group of each of their threads."""

    def __post_init__(self) -> None:
        self.committed = np.zeros(self.threads, np.int64)

    def covering(self, offset: int, nbytes: int) -> Instruction | None:
        """The instruction of a copy under way that writes one of these bytes of shared memory."""
        for copy, _ in self.pending:
            first = copy.offsets
            if ((first < offset + nbytes) & (first + copy.rows.shape[1] > offset)).any():
                return copy.access.instruction
        return None

    def issue(self, copy: Copy) -> None:
        """A copy starts, in the group that the thread closes next."""
        self.pending.append((copy, self.committed[copy.threads]))

    def hand_over(self, threads: Index, rows: Index) -> Iterator[tuple[Copy, int]]:
        """Take the copies of these threads out, by the row of the mbarrier that each thread names."""
        row_of = np.full(self.threads, -1, np.int64)
        row_of[threads] = rows
        still: list[tuple[Copy, npt.NDArray[Any]]] = []
        taken: list[tuple[Copy, int]] = []
        for copy, groups in self.pending:
            row = row_of[copy.threads]
            for number in np.unique(row).tolist():
                mine = row == number
                part = Copy(copy.threads[mine], copy.offsets[mine], copy.rows[mine], copy.access)
                if number < 0:
                    still.append((part, groups[mine]))
                else:
                    taken.append((part, number))
        self.pending = still
        yield from taken

    def commit(self, wave: Wave) -> None:
        """The active threads close their group."""
        self.committed[wave.index] += 1

    def wait(self, wave: Wave, allowed: int, everything: bool = False) -> None:
        """The active threads wait until at most `allowed` of their groups are under way, or for everything."""
        waiting = np.zeros(self.threads, np.bool_)
        waiting[wave.index] = True
        still: list[tuple[Copy, npt.NDArray[Any]]] = []
        for copy, groups in self.pending:
            done = waiting[copy.threads]
            if not everything:
                done = done & (groups < self.committed[copy.threads] - allowed)
            if done.any():
                _land(wave, copy, done)
            if not done.all():
                left = ~done
                rest = Copy(copy.threads[left], copy.offsets[left], copy.rows[left], copy.access)
                still.append((rest, groups[left]))
        self.pending = still


def _land(wave: Wave, copy: Copy, done: npt.NDArray[np.bool_]) -> None:
    from kernel_gate.emulated.access import Change

    shared = wave.shared
    cells = copy.offsets[done][:, None] + np.arange(copy.rows.shape[1])
    shared.data[cells] = copy.rows[done]
    shared.written[cells] = 0xFF
    if shared.races is not None:
        outer, wave.active = wave.active, copy.threads[done]
        count = len(wave.active)
        change = Change(np.ones(count, np.bool_), np.zeros(count, np.bool_))
        shared.races.write(wave, copy.offsets[done], copy.rows.shape[1], change, copy.access.instruction)
        wave.active = outer
