"""Races in shared memory: two threads of a block, one granule, at least one write, no barrier between.

Writes are compared at once with the granule's last writer. Reads are kept until the barrier that ends their
interval and are looked at only when something was written in it, so a loop that only reads costs nothing.
`bar.warp.sync` orders the threads of one warp. Writes of the same value by several threads are benign; atomics do not
race with each other. Where the compiler shares elements out among threads (Triton), several threads may hold one
element and store it by one instruction, each with a sum that it rounded in another order: no race of the author's.

Asynchronous operations hold what they read or write until something waits for them; a write to it is a race at once.
Kernels with mbarriers, or with barriers that count their threads, have clocks beside (`clocks.Clocks`): reads are then
compared as they happen too, and two accesses are ordered also when the later thread has waited for a phase or a barrier
that the earlier one's warp arrived at. Of two
threads of one warp such kernels are only asked whether a read follows a write.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kernel_gate.devices.base import Place
from kernel_gate.emulated.access import Change
from kernel_gate.emulated.clocks import Clocks
from kernel_gate.emulated.held_bytes import HeldBytes
from kernel_gate.emulated.ptx.model import Instruction
from kernel_gate.emulated.types import TYPES
from kernel_gate.emulated.wave import Index, Wave

_THREAD_BITS = 12
_ATOMIC = 1 << (_THREAD_BITS - 1)
_ASYNC = 1 << (_THREAD_BITS - 2)
"""Written by an asynchronous copy: no barrier of its thread orders it, only waiting for the copy does."""
_THREAD_MASK = _ASYNC - 1
_PENDING_MOST = 1 << 24
"""Reads kept; an interval with more is cut, and races across the cut are missed."""


@dataclass(slots=True)
class _Reads:
    event: int
    instruction: Instruction
    granules: npt.NDArray[np.int32]
    threads: Index
    count: int


@dataclass(slots=True)
class SharedRaces:
    """Who wrote each granule last, and what was read since the last barrier."""

    blocks: int
    warps: int
    stride: int
    granule: int
    """Bytes that are told apart."""
    replicates_elements: bool = False
    """Whether several threads may hold one element: what they store of it is rounded in other orders."""
    writer: npt.NDArray[np.int64] = field(init=False)
    """Event and thread of the last write; -1: none."""
    interval: Index = field(init=False)
    """Event at which the current interval of each block began."""
    warp_interval: Index = field(init=False)
    """Event of the last warp barrier of each warp."""
    clocks: Clocks | None = None
    """Clocks, for kernels in which threads of a part of a block are ordered."""
    held: HeldBytes | None = None
    """By asynchronous operations, whose numbers are their event + 1."""
    events: list[Instruction] = field(default_factory=list)
    wrote: bool = False
    pending: list[_Reads] = field(default_factory=list)
    _kept: int = 0

    def __post_init__(self) -> None:
        self.writer = np.full(self.blocks * self.stride // self.granule, -1, np.int64)
        self.interval = np.zeros(self.blocks, np.int64)
        self.warp_interval = np.zeros(self.warps, np.int64)

    def read(self, wave: Wave, offsets: Index, nbytes: int, instruction: Instruction) -> None:
        """The active threads read `nbytes` at these byte offsets."""
        self.read_by(wave, wave.index, offsets, nbytes, instruction)

    def read_by(
        self, wave: Wave, threads: Index, offsets: Index, nbytes: int, instruction: Instruction
    ) -> None:
        """These threads, a thread perhaps several times, read `nbytes` at these byte offsets."""
        count = max(nbytes // self.granule, 1)
        self.events.append(instruction)
        granules = (offsets // self.granule).astype(np.int32)
        reads = _Reads(len(self.events) - 1, instruction, granules, threads, count)
        if self.clocks is not None:
            self._read_now(wave, reads)
            return
        self.pending.append(reads)
        self._kept += len(granules)
        if self._kept > _PENDING_MOST:
            self._check_reads(wave)
            self.pending, self._kept = [], 0

    def write(
        self,
        wave: Wave,
        offsets: Index,
        nbytes: int,
        change: Change,
        instruction: Instruction,
        atomic: bool = False,
    ) -> None:
        """The active threads write."""
        threads = wave.index
        self.events.append(instruction)
        self.wrote = True
        inner = wave.thread_in_block[threads]
        key = ((len(self.events) - 1) << _THREAD_BITS) | (_ATOMIC if atomic else 0) | inner
        start = self.interval[wave.block_of[threads]]
        if self.held is not None:
            self.held.check_write(wave, offsets, instruction, self.events)
        for part in range(max(nbytes // self.granule, 1)):
            granule = offsets // self.granule + part
            if self.clocks is not None:
                self._check_readers(wave, granule, change.replaced, offsets, instruction)
            before = self.writer[granule]
            self.writer[granule] = key
            conflict = self._conflict(wave, before, inner, threads, start)
            if (again := conflict & ~change.replaced).any():
                # Who wrote the value that stands here stays its writer, for reads that come before a barrier.
                self.writer[granule[again]] = before[again]
            conflict &= change.replaced
            if atomic:
                conflict &= before & _ATOMIC == 0
            if change.lost.any():
                # Two threads of one store: whoever lost the granule wrote something else.
                before = np.where(change.lost, self.writer[granule], before)
                conflict |= change.lost & (before != key)
            if conflict.any() and self.replicates_elements:
                conflict[conflict] = [
                    self.events[event] is not instruction for event in before[conflict] >> _THREAD_BITS
                ]
            if conflict.any():
                self._report(
                    wave, "two threads write different values", conflict, before, offsets, instruction
                )

    def _conflict(
        self, wave: Wave, before: Index, inner: Index, threads: Index, start: Index
    ) -> npt.NDArray[np.bool_]:
        """Whether the last writes stand in the same interval and come from other threads, not ordered by the warp."""
        other = before & _THREAD_MASK
        event = before >> _THREAD_BITS
        conflict: npt.NDArray[np.bool_] = (before >= 0) & (event >= start) & (other != inner)
        if self.clocks is not None:
            landed = (before >= 0) & (event >= start) & (before & _ASYNC != 0)
            conflict = (conflict | landed) & ~self._ordered(before, threads)
        if conflict.any() and self.warp_interval.any():
            ordered = (other // 32 == inner // 32) & (event < self.warp_interval[wave.warp[threads]])
            conflict &= ~ordered | (before & _ASYNC != 0)
        return conflict

    def _ordered(self, before: Index, threads: Index) -> npt.NDArray[np.bool_]:
        """Whether these threads have waited for something that came after the earlier write."""
        assert self.clocks is not None
        column = np.where(before & _ASYNC != 0, self.clocks.warps, (before & _THREAD_MASK) // 32)
        ordered: npt.NDArray[np.bool_] = before >> _THREAD_BITS < self.clocks.known[threads, column]
        return ordered

    def _read_now(self, wave: Wave, reads: _Reads) -> None:
        """Compare reads with the writes before them, and keep them for the writes after them."""
        assert self.clocks is not None
        inner = wave.thread_in_block[reads.threads]
        start = self.interval[wave.block_of[reads.threads]]
        outer, wave.active = wave.active, reads.threads
        for part in range(reads.count):
            granule = reads.granules + part
            before = self.writer[granule]
            conflict = self._conflict(wave, before, inner, reads.threads, start)
            if conflict.any():
                what = "one thread reads what another writes"
                self._report(wave, what, conflict, before, reads.granules * self.granule, reads.instruction)
            self.clocks.remember_reads(granule, inner // 32, reads.event << _THREAD_BITS | inner)
        wave.active = outer

    def _check_readers(
        self,
        wave: Wave,
        granule: Index,
        replaced: npt.NDArray[np.bool_],
        offsets: Index,
        instruction: Instruction,
    ) -> None:
        """Report reads by other warps that nothing orders before the active threads' write."""
        assert self.clocks is not None
        threads = wave.index
        limit = np.maximum(self.interval[wave.block_of[threads]][:, None], self.clocks.known[threads])
        limit[np.arange(len(threads)), wave.thread_in_block[threads] // 32] = np.iinfo(np.int64).max
        last = self.clocks.reader[granule]
        open_reads = (last >= 0) & (last >> _THREAD_BITS >= limit[:, : last.shape[1]])
        conflict = open_reads.any(axis=1) & replaced
        if conflict.any():
            before = np.where(open_reads, last, -1).max(axis=1)
            self._report(wave, "one thread reads what another writes", conflict, before, offsets, instruction)

    def land(self, wave: Wave, threads: Index, offsets: Index, nbytes: int, instruction: Instruction) -> None:
        """An asynchronous copy that these threads issued has landed; only who waited for it may look."""
        self.events.append(instruction)
        self.wrote = True
        key = (len(self.events) - 1) << _THREAD_BITS | _ASYNC | wave.thread_in_block[threads]
        for part in range(max(nbytes // self.granule, 1)):
            self.writer[offsets // self.granule + part] = key

    def hold(self, places: list[Index], instruction: Instruction) -> int:
        """An asynchronous operation may be at these bytes (16 from each) until it is released: its number."""
        if self.held is None:
            self.held = HeldBytes(self.blocks * self.stride, self.stride)
        self.events.append(instruction)
        self.held.hold(places, len(self.events))
        return len(self.events)

    def release(self, offsets: Index, number: int) -> None:
        """The operation with this number is over at these bytes."""
        assert self.held is not None
        self.held.release(offsets, number)

    def synchronise(self, wave: Wave, blocks: npt.NDArray[np.bool_] | None) -> None:
        """A barrier of these blocks opens (None: all): their interval ends."""
        if self.wrote and self.pending:
            self._check_reads(wave, blocks)
        if blocks is None:
            self.pending, self._kept, self.wrote = [], 0, False
            self.interval[:] = len(self.events)
            return
        self.interval[blocks] = len(self.events)
        kept = []
        for reads in self.pending:
            stays = ~blocks[wave.block_of[reads.threads]]
            if stays.any():
                kept.append(
                    _Reads(
                        reads.event,
                        reads.instruction,
                        reads.granules[stays],
                        reads.threads[stays],
                        reads.count,
                    )
                )
        self.pending, self._kept = kept, sum(len(r.granules) for r in kept)

    def synchronise_warps(self, wave: Wave) -> None:
        """The active threads pass a warp barrier: what their warps did before is ordered."""
        if self.wrote and self.pending:
            self._check_reads(wave)
        self.warp_interval[wave.warp[wave.index]] = len(self.events)
        if self.clocks is not None:
            self.clocks.join(wave.index, wave.warp[wave.index])

    def _check_reads(self, wave: Wave, blocks: npt.NDArray[np.bool_] | None = None) -> None:
        outer = wave.active
        for reads in self.pending:
            wave.active = reads.threads
            inner = wave.thread_in_block[reads.threads]
            start = self.interval[wave.block_of[reads.threads]]
            warp_start = self.warp_interval[wave.warp[reads.threads]]
            for part in range(reads.count):
                before = self.writer[reads.granules + part]
                other = before & _THREAD_MASK
                conflict = (before >= 0) & (before >> _THREAD_BITS >= start) & (other != inner)
                if not conflict.any():
                    continue
                # Pairs of one warp with a warp barrier between were looked at when it opened.
                earlier = np.minimum(before >> _THREAD_BITS, reads.event)
                conflict &= (other // 32 != inner // 32) | (earlier >= warp_start)
                if blocks is not None:
                    conflict &= blocks[wave.block_of[reads.threads]]
                if conflict.any():
                    what = "one thread reads what another writes"
                    self._report(
                        wave, what, conflict, before, reads.granules * self.granule, reads.instruction
                    )
        wave.active = outer

    def _report(
        self,
        wave: Wave,
        what: str,
        conflict: npt.NDArray[np.bool_],
        before: Index,
        offsets: npt.NDArray[np.integer],
        instruction: Instruction,
    ) -> None:
        # Of threads of two warps it is plainest that nothing orders them.
        plain = conflict & (wave.thread_in_block[wave.index] // 32 != (before & _THREAD_MASK) // 32)
        position = int(np.argmax(plain if plain.any() else conflict))
        other = int(before[position])
        event = self.events[other >> _THREAD_BITS]
        place = event.line
        block = int(wave.block_of[wave.index[position]])
        other_block, thread = wave.place(block * wave.launch.block_threads + (other & _THREAD_MASK))
        byte = int(offsets[position]) % self.stride
        by = "an asynchronous copy issued by" if other & _ASYNC else "the other is"
        nbytes = _element_bytes(instruction)
        name, element = wave.shared.named(byte, nbytes)
        shown = wave.shared.shown(byte, nbytes)
        message = f"race on shared {shown}: {what} with no barrier between; {by} thread {thread}"
        message += f" at line {place}" if place else ""
        side = Place("the other access of the race", place, other_block, thread, event.inner)
        fault = wave.fault(
            "race", message, instruction, position, buffer=name, element=element, related=(side,)
        )
        wave.launch.findings.add(fault, plain=bool(plain.any()))


def _element_bytes(instruction: Instruction) -> int:
    """Bytes of one element of an access; 1 where its type says nothing of elements."""
    kind = TYPES.get(instruction.parts[-1])
    return max(1, kind.size) if kind is not None else 1
