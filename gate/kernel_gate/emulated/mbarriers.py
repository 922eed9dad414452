"""mbarriers of a wave (PTX ISA): phases that end when arrivals and bytes of copies are all there.

Their state lies beside the memory, by address. Copies count their bytes as soon as they are issued, but what they
bring appears only when a thread has waited for their phase: who looks earlier is found. A wait that fails lets every
other thread go first; when nothing moves any more, the launch ends with a deadlock at the wait.
Because bytes count at once, a single `try_wait` that is not in a loop succeeds here and is not noticed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kernel_gate.emulated.ptx.model import Instruction

if TYPE_CHECKING:
    from kernel_gate.emulated.wave import Index, Wave

_FRUITLESS_MOST = 1000
"""Waits in a row that find nothing changed before the launch counts as deadlocked."""
_FIRST_ROWS = 16


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """One instruction's copies to shared memory that mbarriers of one number are told of."""

    row: int
    """The mbarrier's row."""
    phase: int
    threads: Index
    """Who issued each piece."""
    offsets: Index
    """First byte of each piece in the wave's shared memory."""
    rows: npt.NDArray[np.uint8]
    """The bytes, one row per piece."""
    instruction: Instruction
    held: int | None


@dataclass(slots=True)
class Mbarriers:
    """State by row; rows by the byte where an mbarrier lies in the wave's shared memory."""

    row_at: dict[int, int] = field(default_factory=dict)
    home: Index = field(default_factory=lambda: np.zeros(_FIRST_ROWS, np.int64))
    """Byte where the mbarrier of each row lies."""
    phase: Index = field(default_factory=lambda: np.zeros(_FIRST_ROWS, np.int64))
    """Phases that have ended."""
    expected: Index = field(default_factory=lambda: np.zeros(_FIRST_ROWS, np.int64))
    pending: Index = field(default_factory=lambda: np.zeros(_FIRST_ROWS, np.int64))
    bytes_left: Index = field(default_factory=lambda: np.zeros(_FIRST_ROWS, np.int64))
    arrived: dict[int, Index] = field(default_factory=dict)
    """What the arrivals of a row handed over so far (`clocks.Clocks`)."""
    ended: dict[int, Index] = field(default_factory=dict)
    """The same of the phases that have ended."""
    reached: set[int] = field(default_factory=set)
    """Rows of mbarriers that other blocks of the cluster have used."""
    copies: list[BulkCopy] = field(default_factory=list)
    fruitless: int = 0

    def init(self, offsets: Index, counts: Index) -> None:
        """`mbarrier.init`: the first phase begins."""
        for offset, count in zip(offsets.tolist(), counts.tolist(), strict=True):
            row = self.row_at.setdefault(offset, len(self.row_at))
            self._grow(row)
            self.home[row] = offset
            self.phase[row] = self.bytes_left[row] = 0
            self.expected[row] = self.pending[row] = count
            self.arrived.pop(row, None)
            self.ended.pop(row, None)

    def _grow(self, row: int) -> None:
        while row >= len(self.phase):
            for name in ("home", "phase", "expected", "pending", "bytes_left"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))

    def forget(self, offsets: Index) -> None:
        """`mbarrier.inval`. The rows stay reserved, so that none is used twice."""
        for offset in offsets.tolist():
            row = self.row_at.get(offset)
            if row is not None:
                self.expected[row] = -1

    def rows(self, wave: Wave, offsets: Index, instruction: Instruction) -> Index:
        """The row of each active thread's mbarrier. Raises a fault where none was initialised."""
        rows = np.array([self.row_at.get(offset, -1) for offset in offsets.tolist()], np.int64)
        missing = (rows < 0) | (self.expected[rows] < 0)
        if missing.any():
            position = int(np.argmax(missing))
            byte = int(offsets[position]) % wave.shared.stride
            message = f"no mbarrier at byte {byte} of shared memory: mbarrier.init has not run there"
            raise wave.stop("barrier", message, instruction, position)
        if wave.launch.cluster_size > 1:
            far = self.home[rows] // wave.shared.stride != wave.block_of[wave.index]
            self.reached.update(rows[far].tolist())
        return rows

    def expect(self, rows: Index, nbytes: Index) -> None:
        """`expect_tx`."""
        np.add.at(self.bytes_left, rows, nbytes)

    def complete(self, wave: Wave, rows: Index, nbytes: Index) -> None:
        """`complete_tx`, by an instruction or by copies."""
        np.subtract.at(self.bytes_left, rows, nbytes)
        self._end_phases(wave, rows)

    def arrive(
        self, wave: Wave, rows: Index, counts: Index, instruction: Instruction, drop: bool = False
    ) -> Index:
        """The active threads arrive; the state that each gets: its phase, and what was still pending above."""
        states = self.phase[rows] | self.pending[rows] << 32
        self._hand_over(wave, rows)
        np.subtract.at(self.pending, rows, counts)
        if drop:
            np.subtract.at(self.expected, rows, counts)
        many = self.pending[rows] < 0
        if many.any():
            position = int(np.argmax(many))
            expected = int(self.expected[rows[position]])
            message = f"more arrivals at this mbarrier than the {expected} that its phase expects"
            raise wave.stop("barrier", message, instruction, position)
        self._end_phases(wave, rows)
        return states

    def _hand_over(self, wave: Wave, rows: Index) -> None:
        races = wave.shared.races
        if races is None or races.clocks is None:
            return
        threads = wave.index
        handed = races.clocks.at_arrival(threads, wave.thread_in_block[threads] // 32, len(races.events))
        # Clocks know the warps of one block: what other blocks of a cluster did is not looked at for races.
        near = self.home[rows] // wave.shared.stride == wave.block_of[threads]
        for row in np.unique(rows[near]).tolist():
            most = handed[near & (rows == row)].max(axis=0)
            before = self.arrived.get(row)
            self.arrived[row] = most if before is None else np.maximum(before, most)

    def _end_phases(self, wave: Wave, rows: Index) -> None:
        for row in np.unique(rows).tolist():
            if self.pending[row] == 0 and self.bytes_left[row] == 0:
                self.phase[row] += 1
                self.pending[row] = self.expected[row]
                if row in self.arrived:
                    self.ended[row] = self.arrived[row]
                self.fruitless = 0
                wave.stalled[:] = False

    def passed_parity(self, rows: Index, parity: Index) -> npt.NDArray[np.bool_]:
        """Whether the phase of that parity has ended: it is the one before the current phase."""
        result: npt.NDArray[np.bool_] = self.phase[rows] & 1 != parity & 1
        return result

    def passed_state(self, rows: Index, states: Index) -> npt.NDArray[np.bool_]:
        """Whether the phase in which a state was given has ended."""
        result: npt.NDArray[np.bool_] = self.phase[rows] > states & 0xFFFFFFFF
        return result

    def waited(
        self, wave: Wave, rows: Index, passed: npt.NDArray[np.bool_], instruction: Instruction
    ) -> None:
        """The active threads have looked: who passed sees what was handed over, who did not stands back."""
        threads = wave.index
        if passed.any():
            over = np.unique(rows[passed])
            self._land(wave, set(over.tolist()))
            wave.launch.meet(wave)
            if not self.reached.isdisjoint(over.tolist()):
                wave.cluster_barriers.hear(wave)
            races = wave.shared.races
            if races is not None and races.clocks is not None:
                for row in over.tolist():
                    if row in self.ended:
                        races.clocks.learn(threads[passed & (rows == row)], self.ended[row])
                races.clocks.known[threads[passed], races.clocks.warps] = len(races.events)
        if passed.all():
            return
        wave.stalled[threads[~passed]] = True
        if passed.any():
            self.fruitless = 0
            return
        self.fruitless += 1
        if self.fruitless > _FRUITLESS_MOST:
            row = int(rows[0])
            message = (
                f"deadlock: threads wait for this mbarrier and nothing moves any more; {int(self.pending[row])} "
                f"arrivals and {int(self.bytes_left[row])} bytes are missing"
            )
            raise wave.stop("barrier", message, instruction)

    def _land(self, wave: Wave, rows: set[int]) -> None:
        """What the phases that have ended brought appears."""
        still = []
        for copy in self.copies:
            if copy.row not in rows or copy.phase >= self.phase[copy.row]:
                still.append(copy)
                continue
            shared, size = wave.shared, copy.rows.shape[1]
            cells = copy.offsets[:, None] + np.arange(size)
            shared.data[cells] = copy.rows
            shared.written[cells] = 0xFF
            if shared.races is not None:
                if copy.held is not None:
                    shared.races.release(copy.offsets, copy.held)
                shared.races.land(wave, copy.threads, copy.offsets, size, copy.instruction)
        self.copies = still

    def covering(self, offset: int, nbytes: int) -> Instruction | None:
        """The instruction of a copy under way that writes one of these bytes of shared memory."""
        for copy in self.copies:
            first = copy.offsets
            if ((first < offset + nbytes) & (first + copy.rows.shape[1] > offset)).any():
                return copy.instruction
        return None
