"""Bulk copies out of shared memory that are under way, by thread and group (PTX ISA).

The bytes are in global memory at once; what a copy reads is held until its thread has waited for the group.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kernel_gate.emulated.ptx.model import Instruction

if TYPE_CHECKING:
    from kernel_gate.emulated.wave import Index, Wave


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One thread's copy."""

    thread: int
    group: int
    offsets: Index
    """First bytes of the 16 that each piece reads."""
    held: int
    instruction: Instruction


@dataclass(slots=True)
class BulkGroups:
    """What was issued and has not been waited for."""

    threads: int
    committed: Index = field(init=False)
    pending: list[Outgoing] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.committed = np.zeros(self.threads, np.int64)

    def issue(self, wave: Wave, threads: Index, offsets: Index, instruction: Instruction) -> None:
        """Pieces of 16 bytes start to be read; a thread stands once for each piece."""
        races = wave.shared.races
        if races is None:
            return
        held = races.hold([offsets], instruction)
        for thread in np.unique(threads).tolist():
            group = int(self.committed[thread])
            self.pending.append(Outgoing(thread, group, offsets[threads == thread], held, instruction))

    def commit(self, wave: Wave) -> None:
        """The active threads close their group."""
        self.committed[wave.index] += 1

    def wait(self, wave: Wave, allowed: int) -> None:
        """The active threads wait until at most `allowed` of their groups are under way."""
        races = wave.shared.races
        if races is None or not self.pending:
            return
        waiting = set(wave.index.tolist())
        still = []
        for copy in self.pending:
            if copy.thread in waiting and copy.group < self.committed[copy.thread] - allowed:
                races.release(copy.offsets, copy.held)
                readers = np.full(len(copy.offsets), copy.thread)
                races.read_by(wave, readers, copy.offsets, 16, copy.instruction)
            else:
                still.append(copy)
        self.pending = still
